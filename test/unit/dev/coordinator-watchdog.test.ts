import { isCoordinatorStuck } from '../../../dev/kafka/coordinator-watchdog';
import { type Look } from '../../../shared/kafka/client/connection';
import { eventually } from '../../support/eventually';

type State = Look['state'];
const BRISK = { stuckAfterMs: 60, pauseMs: 5 };

/** A broker that looks find in these states one after another, and then in the last one. */
function broker(...states: State[]) {
  const ended = new AbortController();
  let looks = 0;
  const look = (): Promise<Look> => {
    const state = states[Math.min(looks++, states.length - 1)] ?? 'away';
    return Promise.resolve(state === 'ready' ? { state } : { state, reason: 'a test' });
  };
  return { look, ended, looks: () => looks };
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
  const { look, ended } = broker(...states);
  expect(await isCoordinatorStuck(look, ended.signal, BRISK)).toBe(stuck);
});

test('a broker that does not answer is never stuck', async () => {
  const { look, ended, looks } = broker('refuses_groups', 'away');
  const watched = isCoordinatorStuck(look, ended.signal, BRISK);
  // More looks than in the time after which a broker that refuses groups is stuck.
  await eventually(() => expect(looks()).toBeGreaterThan(2 * (BRISK.stuckAfterMs / BRISK.pauseMs)));
  ended.abort();
  expect(await watched).toBe(false);
});

test('an unreachable broker restarts the time of its refusals', async () => {
  const states = Array.from({ length: 8 }, (): State[] => [
    'refuses_groups',
    'refuses_groups',
    'away',
  ]).flat();
  const { look, ended, looks } = broker(...states, 'ready');
  expect(await isCoordinatorStuck(look, ended.signal, { stuckAfterMs: 1_000, pauseMs: 1 })).toBe(
    false,
  );
  expect(looks()).toBe(states.length + 1);
});
