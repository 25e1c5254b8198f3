import { deliveryView } from '../../../../services/control/deliveries/model';
import { applyEvent } from '../../../../services/control/history/delivery-row';
import { aFailure, at, aWait } from '../../../support/events';

/** The time of the next attempt, which the API names only if nothing but time decides it. */

const shown = (
  event: Parameters<typeof applyEvent>[1],
  { nowMs = Date.parse(at(2)), isAway = false } = {},
) =>
  deliveryView(applyEvent(undefined, event), { nowMs, isPaused: () => true, isAway: () => isAway })
    .nextAttemptAt;
const wait = (reason: string) => aWait({ n: 1, reason, nextAttemptAt: at(60) });

test.each(['backoff', 'replayed', 'retry_requested'])(
  'a delivery that waits for %s names it',
  (reason) => expect(shown(wait(reason))).toBe(at(60)),
);

test.each([
  'retry_after',
  'rate_limited',
  'lane_full',
  'handed_over',
  'circuit_open',
  'token',
  'proxy',
  'paused',
  'secrets_unreadable',
  'destination_unreadable',
])('a delivery that waits for %s names none', (reason) => expect(shown(wait(reason))).toBeNull());

test('a failed attempt names the next, unless something else than time ends its wait', () => {
  const failure = (reason: string) => aFailure({ reason, nextAttemptAt: at(60) });
  expect(shown(failure('backoff'))).toBe(at(60));
  expect(shown(failure('backoff'), { isAway: true })).toBeNull();
  expect(shown(failure('retry_after'))).toBeNull();
});

test('no delivery names a time in the past', () => {
  expect(shown(wait('backoff'), { nowMs: Date.parse(at(59)) })).toBe(at(60));
  expect(shown(wait('backoff'), { nowMs: Date.parse(at(60)) })).toBeNull();
});
