import { type GoesOn } from '../../../../shared/api/operations';
import { WAIT_REASONS } from '../../../../shared/model/reasons';
import { type AtDestination } from '../../../../services/control/deliveries/goes-on';
import { deliveryView } from '../../../../services/control/deliveries/model';
import { addEvidence, unknownHealth } from '../../../../services/control/health/destination-health';
import { applyEvent } from '../../../../services/control/history/delivery-row';
import { aCancellation, aFailure, anEvent, at, aUrl, aWait } from '../../../support/events';

/** What a delivery waits for, for every reason of a wait. */

const tiersMs = [10_000, 60_000, 1_800_000];
const windowMs = 4 * 3_600_000;
const QUIET: AtDestination = {
  name: 'Hooks',
  isPaused: false,
  urls: ['whk_1'],
  circuits: [],
  health: undefined,
};
const error = { error: 'https://a.example: status 503', code: 'status', status: 503, url: 'whk_1' };
const failedAt = (seconds: number) =>
  addEvidence(unknownHealth(), [
    {
      kind: 'failed',
      destination: 'dst_1',
      at: Date.parse(at(seconds)),
      until: Date.parse(at(seconds)),
      ...error,
    },
  ]);
const LAST_CHECK = {
  at: at(1),
  code: 'status',
  status: 503,
  message: 'https://a.example: status 503',
  url: 'whk_1',
};
/** Its circuit opened at 0 s, and its last request failed at 1 s. */
const AWAY: AtDestination = {
  ...QUIET,
  circuits: [{ url: 'whk_1', at: Date.parse(at(0)) }],
  health: failedAt(1),
};

function shown(
  event: Parameters<typeof applyEvent>[1],
  destination: Partial<AtDestination> = {},
  seconds = 2,
) {
  const present = {
    nowMs: Date.parse(at(seconds)),
    tiersMs,
    windowMs,
    at: () => ({ ...QUIET, ...destination }),
  };
  return deliveryView(applyEvent(undefined, event), present);
}
const wait = (reason: string) => aWait({ n: 1, reason, nextAttemptAt: at(60) });
const expiresAt = anEvent().expiresAt;

const later = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();

type Row = [Partial<AtDestination>, Partial<GoesOn>];
const TABLE: Record<(typeof WAIT_REASONS)[number], Row[]> = {
  backoff: [
    [{}, { when: 'at', at: at(60), lastCheck: null, nextCheckBy: null }],
    [AWAY, { when: 'on_answer', at: at(60), lastCheck: LAST_CHECK, nextCheckBy: at(60) }],
    [{ isPaused: true }, { when: 'on_release', at: null }],
  ],
  replayed: [[{}, { when: 'at', at: at(60) }]],
  retry_requested: [[AWAY, { when: 'at', at: at(60) }]],
  retry_after: [[AWAY, { when: 'not_before', at: at(60), nextCheckBy: null }]],
  rate_limited: [[{}, { when: 'not_before', at: at(60) }]],
  lane_full: [[{}, { when: 'not_before', at: at(60) }]],
  handed_over: [[{}, { when: 'not_before', at: at(60) }]],
  circuit_open: [
    [AWAY, { when: 'on_answer', at: null, lastCheck: LAST_CHECK, nextCheckBy: at(61) }],
    // Its endpoint has answered since: what waits is on its way.
    [{}, { when: 'on_answer', at: null, lastCheck: null, nextCheckBy: at(12) }],
  ],
  token: [[{}, { when: 'on_answer', at: null, nextCheckBy: at(60) }]],
  proxy: [[{}, { when: 'on_answer', at: null, nextCheckBy: at(60) }]],
  paused: [
    [{ isPaused: true }, { when: 'on_release', at: null, nextCheckBy: null }],
    // The pause has ended since.
    [{}, { when: 'at', at: at(0) }],
  ],
  secrets_unreadable: [[{}, { when: 'on_release', at: null }]],
  destination_unreadable: [[{}, { when: 'on_release', at: null }]],
};

test.each(
  WAIT_REASONS.flatMap((reason) =>
    TABLE[reason].map(([known, goesOn]) => ({ reason, known, goesOn })),
  ),
)('a delivery that waits for $reason goes on $goesOn.when', ({ reason, known, goesOn }) => {
  const view = shown(wait(reason), known);
  expect(view.goesOn).toMatchObject({ givenUpAt: expiresAt, ...goesOn });
  expect(view.nextAttemptAt).toBe(goesOn.when === 'at' ? goesOn.at : null);
});

test.each([
  ['secrets_unreadable', 0, {}, later(expiresAt, windowMs)],
  ['destination_unreadable', 0, {}, later(expiresAt, windowMs)],
  ['secrets_unreadable', 1, {}, expiresAt],
  ['secrets_unreadable', 0, { isPaused: true }, expiresAt],
  ['paused', 0, { isPaused: true }, expiresAt],
  ['circuit_open', 0, AWAY, expiresAt],
])('one that waits for %s after %i attempts (%j) is given up at %s', (reason, n, known, end) => {
  const waits = aWait({ n, reason, nextAttemptAt: at(60) });
  expect(shown(waits, known).goesOn).toMatchObject({ givenUpAt: end });
});

test('a failed attempt names the time of the next, and that a Retry-After is the earliest', () => {
  const failure = (reason: string) => aFailure({ reason, nextAttemptAt: at(60) });
  expect(shown(failure('backoff'))).toMatchObject({
    nextAttemptAt: at(60),
    goesOn: { when: 'at', at: at(60) },
  });
  expect(shown(failure('retry_after'))).toMatchObject({
    nextAttemptAt: null,
    goesOn: { when: 'not_before', at: at(60) },
  });
});

test('a delivery that has ended does not go on', () => {
  for (const event of [anEvent(), aCancellation()]) expect(shown(event).goesOn).toBeNull();
});

test('the last failure is not named once something was delivered after it', () => {
  const health = addEvidence(failedAt(1), [
    { kind: 'ok', destination: 'dst_1', at: Date.parse(at(1.5)) },
  ]);
  expect(shown(wait('backoff'), { health }).goesOn!.lastCheck).toBeNull();
});

describe('the next check of an endpoint whose circuit is open', () => {
  const nextCheck = (failed: number, now: number) =>
    shown(wait('circuit_open'), { ...AWAY, health: failedAt(failed) }, now).goesOn!.nextCheckBy;

  test('follows a minute after the last one, and later five', () => {
    expect(nextCheck(800, 801)).toBe(at(860));
    expect(nextCheck(901, 902)).toBe(at(1_201));
  });

  test('is never in the past: the request may be under way', () =>
    expect(nextCheck(1, 70)).toBe(at(70)));
});

test('a URL that rejected the delivery does not count as one that may answer', () => {
  const urls = ['whk_1', 'whk_2'];
  const circuits = [{ url: 'whk_2', at: Date.parse(at(0)) }];
  const tried = aFailure({
    nextAttemptAt: at(60),
    urls: [
      aUrl({ outcome: 'rejected', status: 400 }),
      aUrl({ url: 'whk_2', outcome: 'retry', status: 503 }),
    ],
  });
  const goesOn = { when: 'on_answer', at: at(60), nextCheckBy: at(60) };
  expect(shown(tried, { urls, circuits })).toMatchObject({ goesOn });
  const present = {
    nowMs: Date.parse(at(2)),
    tiersMs,
    windowMs,
    at: () => ({ ...AWAY, urls, circuits }),
  };
  const held = (event: Parameters<typeof applyEvent>[1]) =>
    deliveryView(applyEvent(applyEvent(undefined, event), wait('circuit_open')), present).goesOn;
  expect(held(tried)).toMatchObject({ when: 'on_answer', nextCheckBy: at(61) });
  // The other URL has answered: what waits is on its way.
  expect(held(aFailure())).toMatchObject({ when: 'on_answer', nextCheckBy: at(12) });
});

test('a wait for a token is no longer than its outage, once its tier has ended', () => {
  const blocked = addEvidence(unknownHealth(), [
    {
      kind: 'blocked',
      destination: 'dst_1',
      at: Date.parse(at(0)),
      until: Date.parse(at(9_000)),
      ...error,
    },
  ]);
  const nextCheck = (now: number) =>
    shown(wait('token'), { health: blocked }, now).goesOn!.nextCheckBy;
  expect(nextCheck(59)).toBe(at(60));
  expect(nextCheck(100)).toBe(at(200));
  expect(nextCheck(3_000)).toBe(at(4_800));
});

test('an unknown reason ends no earlier than planned', () =>
  expect(shown(wait('of_tomorrow')).goesOn).toMatchObject({ when: 'not_before', at: at(60) }));
