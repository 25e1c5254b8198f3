import { outcomeOf } from '../../../../tools/bench/cases/rolling';

test('a call counts in the step that sent it, and calls that never arrived count apart', () => {
  const steps = [
    { name: 'nothing changes', atMs: 1_000 },
    { name: 'router joins', atMs: 2_500 },
  ];
  const sentAt = new Map(
    Object.entries({ warmUp: 900, a: 1_000, b: 1_999, between: 2_100, c: 3_499, lost: 3_000 }),
  );
  const arrivals = new Map(
    Object.entries({ warmUp: 5_000, a: 1_010, b: 2_049, between: 9_000, c: 3_519 }),
  );
  expect(outcomeOf({ steps, stepMs: 1_000, sentAt, arrivals })).toEqual({
    missing: 1,
    steps: [
      { name: 'nothing changes', count: 2, p50Ms: 10, p99Ms: 50, maxMs: 50 },
      { name: 'router joins', count: 1, p50Ms: 20, p99Ms: 20, maxMs: 20 },
    ],
  });
});
