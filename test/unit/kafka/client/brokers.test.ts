import { requireVersions } from '../../../../shared/kafka/client/brokers';

/** The versions of the requests that are used, as brokers of these releases know them. */
const RELEASES = {
  '3.7': { 0: [0, 10], 1: [0, 16], 2: [0, 8], 3: [0, 12], 8: [0, 9], 9: [0, 9], 11: [0, 9] },
  '4.1': { 0: [3, 13], 1: [4, 18], 2: [1, 11], 3: [0, 13], 8: [2, 10], 9: [1, 10], 11: [2, 9] },
} as const;
const REST = { 10: [0, 4], 12: [0, 4], 13: [0, 5], 14: [0, 5], 23: [2, 4] } as const;

const versionsOf = (ranges: object) =>
  Object.fromEntries(
    Object.entries({ ...REST, ...ranges } as Record<string, readonly [number, number]>).map(
      ([key, [minVersion, maxVersion]]) => [key, { minVersion, maxVersion }],
    ),
  );

test.each(Object.keys(RELEASES) as (keyof typeof RELEASES)[])('Kafka %s is supported', (name) => {
  expect(() => requireVersions(versionsOf(RELEASES[name]))).not.toThrow();
});

test.each<[string, object]>([
  ['older', { ...RELEASES['3.7'], 1: [0, 11] }],
  ['later, without a request that is used,', { ...RELEASES['4.1'], 0: [8, 20] }],
])('a start on %s brokers is refused in one sentence', (_, ranges) => {
  expect(() => requireVersions(versionsOf(ranges))).toThrow(/^Waypost needs Kafka 3\.7 to 4\.x: /);
});
