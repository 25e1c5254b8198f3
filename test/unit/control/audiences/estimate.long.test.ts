import fc from 'fast-check';
import {
  estimate,
  type PartitionSample,
} from '../../../../services/control/audiences/preview-progress';

const known = (profiles: number, looked: number, members: number, unsure = 0): PartitionSample => ({
  profiles,
  known: looked,
  members,
  unsure,
});

test.each([
  [
    'all profiles are known',
    [known(10, 10, 3), known(0, 0, 0)],
    { members: 3, plusMinus: 0, exact: true },
  ],
  [
    'there are no profiles',
    [known(0, 0, 0), known(0, 0, 0)],
    { members: 0, plusMinus: 0, exact: true },
  ],
  ['no partition has answered', [], { members: 0, plusMinus: 0, exact: false }],
  [
    'no profile is known yet',
    [known(500, 0, 0), known(500, 0, 0)],
    { members: 0, plusMinus: 1_000, exact: false },
  ],
  ['one partition is silent', [known(100, 100, 50)], { members: 100, exact: false }],
  [
    'no profile of one partition is known yet',
    [known(100, 100, 50), known(300, 0, 0)],
    { members: 200, exact: false },
  ],
  [
    'some profiles are unsure',
    [known(10, 10, 3, 2), known(10, 10, 0)],
    { members: 3, plusMinus: 2, exact: false },
  ],
  [
    'half of the profiles are known',
    [known(100, 50, 10), known(100, 50, 20)],
    { members: 60, exact: false },
  ],
  [
    'the sample has no members',
    [known(1e6, 2_000, 0), known(1e6, 2_000, 0)],
    { members: 0, exact: false },
  ],
] as const)('the estimate is right if %s', (_, given, expected) => {
  expect(estimate(given, 2)).toMatchObject(expected);
});

test('an audience without members in the sample may have members', () => {
  expect(estimate([known(1_000_000, 2_000, 0)], 1).plusMinus).toBeGreaterThan(1_000);
});

test('the estimate stays between found members and all users, and narrows with the sample', () => {
  const stratum = fc
    .record({
      profiles: fc.nat(100_000),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      looked: fc.nat(2_000),
    })
    .map(({ profiles, share, looked }) => {
      const of = Math.min(profiles, looked);
      return known(profiles, of, Math.floor(of * share));
    });
  fc.assert(
    fc.property(fc.array(stratum, { minLength: 1, maxLength: 12 }), (given) => {
      const found = given.reduce((sum, { members }) => sum + members, 0);
      const all = given.reduce((sum, { profiles }) => sum + profiles, 0);
      const { members, plusMinus, exact } = estimate(given, given.length);
      expect(members).toBeGreaterThanOrEqual(found);
      expect(members).toBeLessThanOrEqual(all);
      expect(exact).toBe(given.every((each) => each.known === each.profiles));
      if (exact) expect([members, plusMinus]).toEqual([found, 0]);
    }),
  );
});

/** Yields the same numbers from 0 to 1 in each run. */
function* numbers(): Generator<number> {
  for (let state = 1; ;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state / 2_147_483_647;
  }
}

test.each([0.001, 0.02, 0.3, 0.9])(
  '95 of 100 intervals contain the true number for a share of %d',
  (share) => {
    const random = numbers();
    const next = () => random.next().value as number;
    const trials = 400;
    let held = 0;
    for (let trial = 0; trial < trials; trial++) {
      let truth = 0;
      const given = [5_000, 4_000].map((profiles) => {
        const members = new Set<number>();
        for (let i = 0; i < profiles; i++) if (next() < share) members.add(i);
        truth += members.size;
        // The first elements of a shuffle: a sample without replacement.
        const order = Array.from({ length: profiles }, (_, i) => i);
        for (let i = 0; i < 500; i++) {
          const j = i + Math.floor(next() * (profiles - i));
          [order[i], order[j]] = [order[j]!, order[i]!];
        }
        return known(profiles, 500, order.slice(0, 500).filter((i) => members.has(i)).length);
      });
      const { members, plusMinus } = estimate(given, 2);
      if (Math.abs(members - truth) <= plusMinus) held++;
    }
    expect(held / trials).toBeGreaterThan(0.93);
  },
);
