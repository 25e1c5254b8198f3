import { destinationStatusOf, goesOnInWords } from '../../../cli/explain/destination-status';

/** Why a destination is degraded: an old error is none of today. */

const since = '2026-01-02T00:00:00.000Z';
const error = (at: string) => ({ at, code: 'status', status: 503, message: 'status 503' });
const row = (failedAttempts: number, at: string) =>
  ({
    destination: 'dst_1',
    name: 'Cobalt',
    state: 'degraded',
    lastError: error(at),
    failedAttempts,
    circuits: [],
    waiting: 0,
    retrying: 0,
    held: 0,
    dead: 0,
    lastDead: null,
  }) as unknown as Parameters<typeof destinationStatusOf>[0];
const old = '2025-12-10T00:00:00.000Z';
const today = '2026-01-02T08:00:00.000Z';

test.each([
  [
    'an error of the span is named, and that it is past',
    row(3, today),
    `status 503; last failure ${today}, none since`,
  ],
  ['an old error is not, even if something failed in the span', row(3, old), null],
  ['nor is one in whose span nothing failed', row(0, today), null],
])('%s', (_, given, why) => {
  expect(destinationStatusOf(given, since).why).toBe(why);
});

test('an old error is named while a delivery waits behind it', () => {
  const waiting = { goesOn: { lastCheck: { ...error(old), url: null } } };
  const details = { waiting } as unknown as Parameters<typeof destinationStatusOf>[2];
  expect(destinationStatusOf(row(0, old), since, details).why).toBe(
    `status 503; last failure ${old}, none since`,
  );
});

test('what is dead goes on only by a replay, unless something waits too', () => {
  const dead = destinationStatusOf({ ...row(0, today), dead: 3 }, since);
  expect(goesOnInWords(dead, undefined, 0)).toBe('only by a replay');
  expect(goesOnInWords({ ...dead, dead: 0 }, undefined, 0)).toBeUndefined();
  expect(goesOnInWords({ ...dead, waiting: 1 }, undefined, 0)).toBeUndefined();
});
