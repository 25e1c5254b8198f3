import { isCoordinatorStuck } from '../../../dev/kafka/coordinator-watchdog';
import { type KafkaProbe } from '../../../shared/kafka/client/connection';
import { eventually } from '../../support/eventually';

type State = KafkaProbe['state'];
const BRISK = { stuckAfterMs: 60, pauseMs: 5 };

/** A broker that probes find in these states one after another, and then in the last one. */
function broker(...states: State[]) {
  const ended = new AbortController();
  let probes = 0;
  const probe = (): Promise<KafkaProbe> => {
    const state = states[Math.min(probes++, states.length - 1)] ?? 'away';
    return Promise.resolve(state === 'ready' ? { state } : { state, reason: 'a test' });
  };
  return { probe, ended, probes: () => probes };
}

test.each<[string, State[], boolean]>([
  ['a ready broker is not stuck', ['ready'], false],
  [
    'a broker that becomes ready in time is not stuck',
    ['away', 'refuses_groups', 'refuses_groups', 'ready'],
    false,
  ],
  ['a broker that answers but keeps refusing groups is stuck', ['away', 'refuses_groups'], true],
])('%s', async (_, states, stuck) => {
  const { probe, ended } = broker(...states);
  expect(await isCoordinatorStuck(probe, ended.signal, BRISK)).toBe(stuck);
});

test('a broker that does not answer is never stuck', async () => {
  const { probe, ended, probes } = broker('refuses_groups', 'away');
  const watched = isCoordinatorStuck(probe, ended.signal, BRISK);
  // More probes than in the time after which a broker that refuses groups is stuck.
  await eventually(() =>
    expect(probes()).toBeGreaterThan(2 * (BRISK.stuckAfterMs / BRISK.pauseMs)),
  );
  ended.abort();
  expect(await watched).toBe(false);
});

test('an unreachable broker restarts the time of its refusals', async () => {
  const states = Array.from({ length: 8 }, (): State[] => [
    'refuses_groups',
    'refuses_groups',
    'away',
  ]).flat();
  const { probe, ended, probes } = broker(...states, 'ready');
  expect(await isCoordinatorStuck(probe, ended.signal, { stuckAfterMs: 1_000, pauseMs: 1 })).toBe(
    false,
  );
  expect(probes()).toBe(states.length + 1);
});
