import { backoffMs, retryAfterMs } from '../../../clients/node/src/retry';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test.each<[string | null, number]>([
  [null, 0],
  ['', 0],
  ['soon', 0],
  ['-1', 0],
  ['0', 0],
  ['7', 7_000],
  ['99999999999', 300_000],
  ['Sat, 21 Nov 2026 12:00:09 GMT', 9_000],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['Sat, 21 Nov 2037 11:00:00 GMT', 300_000],
])('Retry-After %s', (header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms);
});

test.each([
  [1, 250, 500],
  [2, 500, 1_000],
  [6, 8_000, 16_000],
  [7, 15_000, 30_000],
  [1_000, 15_000, 30_000],
])('after %d failed tries between %d and %d ms', (failed, least, most) => {
  expect(backoffMs(failed, 0)).toBe(least);
  expect(backoffMs(failed, 1)).toBe(most);
});
