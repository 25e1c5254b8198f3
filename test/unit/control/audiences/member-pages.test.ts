import fc from 'fast-check';
import {
  type MemberPosition,
  MemberPages,
  positionsToAsk,
} from '../../../../services/control/audiences/member-pages';
import {
  type ProfileResult,
  type Member,
  type ProfileQuery,
} from '../../../../shared/model/profile-records';

const member = (userId: string): Member => ({ userId, value: true, since: 0 });

/** A query client whose partitions hold users in order; silent partitions do not answer. */
function asking(held: readonly string[][], silent: ReadonlySet<number> = new Set()) {
  return {
    partitions: () => Promise.resolve(held.length),
    end: () => undefined,
    ask: (question: ProfileQuery, hear: (answer: ProfileResult) => void) => {
      if (question.kind !== 'members') throw new Error('it is asked for members');
      if (silent.size < held.length) hear({ kind: 'heard' });
      // The last partition answers first, since answers come in any order.
      for (const { partition, after = '' } of [...question.partitions].reverse()) {
        if (silent.has(partition)) continue;
        const users = held[partition]!.filter((user) =>
          question.user ? user === question.user : user > after,
        );
        const members = users.slice(0, question.limit).map(member);
        const end = question.user !== undefined || users.length < question.limit;
        hear({ kind: 'members', partition, members, end });
        hear({ kind: 'members', partition, members, end });
      }
      return Promise.resolve();
    },
  };
}

const pages = (held: readonly string[][], silent?: ReadonlySet<number>) =>
  new MemberPages(asking(held, silent), () => new Date(0), 30);
const users = (of: readonly Member[]) => of.map(({ userId }) => userId);

test.each([
  ['all of them if their numbers are unknown', { partition: 0 }, new Map(), 5, [0, 1, 2]],
  ['only the first if that has enough members', { partition: 0 }, new Map([[0, 9]]), 5, [0]],
  [
    'the first two if a part of the first is read already',
    { partition: 0, after: 'b' },
    new Map([
      [0, 9],
      [1, 9],
    ]),
    5,
    [0, 1],
  ],
  [
    'the first two if they have enough members together',
    { partition: 0 },
    new Map([
      [0, 3],
      [1, 2],
    ]),
    5,
    [0, 1],
  ],
  ['only the last for its members', { partition: 2 }, new Map(), 5, [2]],
  ['none after the last', { partition: 3 }, new Map(), 5, []],
] as [string, MemberPosition, Map<number, number>, number, number[]][])(
  'a page asks these partitions: %s',
  (_, from, expected, wanted, asked) => {
    const positions = positionsToAsk(from, { partitions: 3, wanted, expected });
    expect(positions.map(({ partition }) => partition)).toEqual(asked);
  },
);

test('the pages contain all members once and in order, for any expected numbers', async () => {
  const name = fc.integer({ min: 0, max: 99 }).map((n) => `u${n}`);
  const partition = fc.uniqueArray(name, { maxLength: 8 }).map((names) => names.sort());
  const world = fc.record({
    held: fc.array(partition, { minLength: 1, maxLength: 4 }),
    limit: fc.integer({ min: 1, max: 7 }),
    expected: fc.dictionary(fc.constantFrom('0', '1', '2', '3'), fc.nat(9)),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ held, limit, expected }) => {
      const counts = new Map(
        Object.entries(expected).map(([partition, count]) => [Number(partition), count]),
      );
      const found: string[] = [];
      for (let from: MemberPosition | undefined = { partition: 0 }; from;) {
        const page = await pages(held).page({ definition: 'aud_1', limit, from, expected: counts });
        expect(page.members.length).toBeLessThanOrEqual(limit);
        if (page.next) expect(page.members).toHaveLength(limit);
        found.push(...users(page.members));
        from = page.next;
      }
      expect(found).toEqual(held.flat());
    }),
  );
});

test('a page ends before a partition without an answer, and the next starts there', async () => {
  const held = [['a'], ['b'], ['c']];
  const from = { partition: 0 };
  const asked = { definition: 'aud_1', limit: 9, expected: new Map<number, number>() };
  const page = await pages(held, new Set([1])).page({ ...asked, from });
  expect([users(page.members), page.next]).toEqual([['a'], { partition: 1 }]);
  await expect(pages(held, new Set([1])).page({ ...asked, from: page.next! })).rejects.toThrow(
    /partition 1 of profiles/,
  );
  expect(users((await pages(held).page({ ...asked, from: page.next! })).members)).toEqual([
    'b',
    'c',
  ]);
});

test('a page fails with advice if no process answers', async () => {
  const asked = {
    definition: 'aud_1',
    limit: 9,
    from: { partition: 0 },
    expected: new Map<number, number>(),
  };
  await expect(pages([['a']], new Set([0])).page(asked)).rejects.toMatchObject({
    code: 'unavailable',
    status: 503,
    also: { headers: { 'Retry-After': '5' } },
  });
});

test('a user is found, not found, or unknown if a partition is silent', async () => {
  const held = [['a'], ['b']];
  expect(await pages(held).find('aud_1', 'b')).toEqual(member('b'));
  expect(await pages(held).find('aud_1', 'c')).toBeUndefined();
  // Found in its partition, so the silent one does not matter.
  expect(await pages(held, new Set([0])).find('aud_1', 'b')).toEqual(member('b'));
  await expect(pages(held, new Set([0])).find('aud_1', 'c')).rejects.toMatchObject({ status: 503 });
});
