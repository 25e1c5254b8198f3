import fc from 'fast-check';
import {
  assignCopartitions,
  type Claim,
} from '../../../../shared/kafka/consumer/cooperative-assignor';

const claim = (memberId: string, owned: number[] = [], more: Partial<Claim> = {}): Claim => ({
  memberId,
  owned,
  at: 1,
  leaving: false,
  ...more,
});

const asObject = (map: Map<string, number[]>) => Object.fromEntries(map);

describe('the cooperative assignment', () => {
  test.each<[string, number, Claim[], Record<string, number[]>]>([
    ['the first member gets all co-partitions', 4, [claim('a')], { a: [0, 1, 2, 3] }],
    [
      'two members that start together share equally',
      4,
      [claim('a'), claim('b')],
      { a: [0, 2], b: [1, 3] },
    ],
    [
      'a new member waits for co-partitions that their owner must release first',
      4,
      [claim('a', [0, 1, 2, 3]), claim('b')],
      { a: [0, 1], b: [] },
    ],
    [
      'a new member gets released co-partitions in the next round',
      4,
      [claim('a', [0, 1]), claim('b')],
      { a: [0, 1], b: [2, 3] },
    ],
    [
      'a leaving member gets no co-partitions, and those it drains go to no other member',
      4,
      [claim('a', [0, 1], { leaving: true }), claim('b', [2, 3])],
      { a: [], b: [2, 3] },
    ],
    [
      'the remaining member gets all co-partitions after the other has left',
      4,
      [claim('b', [2, 3])],
      { b: [0, 1, 2, 3] },
    ],
    [
      'the odd co-partition stays with its owner',
      3,
      [claim('a', [1]), claim('b', [0, 2])],
      { a: [1], b: [0, 2] },
    ],
    [
      'a stale claim after a lost session loses',
      2,
      [claim('a', [0, 1], { at: 1 }), claim('b', [0, 1], { at: 2 })],
      { a: [], b: [0] },
    ],
    [
      'a claim of an older generation loses even if the clock of its member is hours ahead',
      2,
      [
        claim('a', [0, 1], { at: 9e6, generation: 4 }),
        claim('b', [0, 1], { at: 1, generation: 5 }),
      ],
      { a: [], b: [0] },
    ],
    [
      'the time of joining decides if a member of an older version sends no generation',
      2,
      [claim('a', [0, 1], { at: 1, generation: 4 }), claim('b', [0, 1], { at: 2 })],
      { a: [], b: [0] },
    ],
    [
      'after a third member has left, only its co-partitions move',
      6,
      [claim('a', [0, 1]), claim('b', [2, 3])],
      { a: [0, 1, 4], b: [2, 3, 5] },
    ],
    ['a claim to a partition that does not exist is ignored', 1, [claim('a', [7])], { a: [0] }],
  ])('%s', (_, copartitions, claims, expected) => {
    expect(asObject(assignCopartitions(copartitions, claims))).toEqual(expected);
  });

  test('with changing members each co-partition has one owner at a time, in equal shares', () => {
    const events = fc.array(fc.oneof(fc.constant('join'), fc.constant('leave')), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), events, (copartitions, steps) => {
        let members = new Map<string, Set<number>>([['m0', new Set()]]);
        let names = 0;
        for (const step of steps) {
          if (step === 'join') members.set(`m${String(++names)}`, new Set());
          else if (members.size > 1) members.delete([...members.keys()][names % members.size]!);
          // Rounds until the assignment is stable: each member drops revoked co-partitions, then
          // claims the rest.
          for (let round = 0; round < 3; round++) {
            const claims = [...members].map(([id, owned]) => claim(id, [...owned]));
            const assigned = assignCopartitions(copartitions, claims);
            const given = [...assigned.values()].flat();
            expect(new Set(given).size).toBe(given.length);
            for (const [id, list] of assigned) {
              for (const copartition of list) {
                const owner = [...members].find(([, owned]) => owned.has(copartition))?.[0];
                expect([undefined, id]).toContain(owner);
              }
            }
            members = new Map([...assigned].map(([id, list]) => [id, new Set(list)]));
          }
          const sizes = [...members.values()].map((owned) => owned.size);
          expect(sizes.reduce((a, b) => a + b)).toBe(copartitions);
          expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});
