import {
  findMessages,
  type Cursor,
  type Sought,
} from '../../../../services/control/lookup/find-messages';
import { type InRecord } from '../../../../shared/kafka/port';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';
import { memoryLog } from '../../../support/memory-log';

const NOW = Date.parse('2026-01-08T00:00:00.000Z');
const HOUR_MS = 3_600_000;

/** @param at when it was accepted, ms since 1970; it is appended `delayMs` later */
function aMessage(
  offset: number,
  at: number,
  {
    user = 'user-1',
    id = `m-${offset}`,
    source = 'src_1',
    delayMs = 5,
    format = FORMAT_HEADER,
  } = {},
): InRecord {
  const message = { type: 'track', messageId: id, timestamp: 't', event: 'Order', userId: user };
  return {
    topic: 'messages',
    partition: 0,
    offset,
    epoch: 0,
    timestampMs: at + delayMs,
    key: null,
    value: Buffer.from(JSON.stringify(message)),
    headers: { format, source, message: id, 'accepted-at': String(at) },
  };
}

/** Returns the pages until nothing is left. @param msEach what each look at the clock adds */
async function pagesOf(
  records: readonly InRecord[],
  sought: Sought,
  { limit = 10, msEach = 0, isForgotten = (): boolean => false } = {},
) {
  const { kafka } = memoryLog(records);
  const pages = [];
  let steadyMs = 0;
  let after: Cursor | undefined;
  do {
    const deps = { kafka, isForgotten, nowMs: NOW, steadyMs: () => (steadyMs += msEach) };
    const page = await findMessages(deps, sought, { limit, after });
    pages.push(page);
    after = page.next;
  } while (after);
  return pages;
}

const idsOf = (pages: Awaited<ReturnType<typeof pagesOf>>) =>
  pages.flatMap(({ found }) => found.map(({ head }) => head.messageId));

/** 300 messages of three users within a week, several in the same ms, late ones among them. */
const WEEK = Array.from({ length: 300 }, (_, i) =>
  aMessage(i, NOW - 168 * HOUR_MS + Math.floor(i / 3) * 1.6 * HOUR_MS, {
    user: `user-${i % 3}`,
    delayMs: (i % 5) * 2_000,
  }),
)
  .sort((a, b) => a.timestampMs - b.timestampMs)
  .map((record, offset) => ({ ...record, offset }));
const OF_USER_2 = WEEK.filter(({ value }) => value?.includes('"user-2"')).map(
  ({ headers }) => headers.message,
);

test.each([
  ['within one page', { limit: 1_000 }],
  ['in pages of seven', { limit: 7 }],
  ['in pages that end because time is over', { limit: 7, msEach: 240 }],
])('all messages of a user are found once, newest first, %s', async (_, options) => {
  const pages = await pagesOf(WEEK, { user: 'user-2' }, options);
  expect(idsOf(pages).sort()).toEqual([...OF_USER_2].sort());
  const times = pages.flatMap(({ found }) => found.map(({ appendedAt }) => appendedAt));
  expect(times).toEqual([...times].sort((a, b) => b - a));
  expect(pages.map(({ complete }) => complete)).toEqual(pages.map((page) => page === pages.at(-1)));
  // The pages cover the time without a gap.
  expect(pages[0]?.to).toBe(NOW);
  for (const [i, { to }] of pages.entries()) if (i > 0) expect(to).toBe(pages[i - 1]?.from);
});

test('after a quiet time a slice holds no more records than can be read in seconds', async () => {
  const busy = Array.from({ length: 60_000 }, (_, i) => aMessage(i, NOW - 99 * HOUR_MS + i * 60));
  const { kafka } = memoryLog([...busy, aMessage(busy.length, NOW - 1, { user: 'other' })]);
  let read = 0;
  let most = 0;
  let steadyMs = 0;
  const page = await findMessages(
    {
      kafka: {
        ranges: kafka.ranges,
        read: async (at) => {
          const fetched = await kafka.read(at);
          read += fetched.records.length;
          return fetched;
        },
      },
      isForgotten: () => false,
      nowMs: NOW,
      steadyMs: () => {
        most = Math.max(most, read);
        read = 0;
        return (steadyMs += 300);
      },
    },
    { user: 'nobody' },
    { limit: 10, after: undefined },
  );
  expect(page).toMatchObject({ found: [], complete: false });
  expect(most).toBeGreaterThan(1_000);
  expect(most).toBeLessThanOrEqual(20_000);
});

test('a message that one ingest accepted by a clock ahead of others is found once', async () => {
  const records = Array.from({ length: 40 }, (_, i) =>
    aMessage(i, NOW - 40_000 + i * 1_000 + (i % 2) * 30_000, { delayMs: (i % 2) * -30_000 }),
  );
  const pages = await pagesOf(records, { user: 'user-1' }, { limit: 3, msEach: 2_500 });
  expect(idsOf(pages)).toEqual(records.map(({ headers }) => headers.message).reverse());
});

test('a search for a message stops where it is found, and can go on', async () => {
  const records = [
    aMessage(0, NOW - 100 * HOUR_MS, { id: 'twice' }),
    aMessage(1, NOW - 50 * HOUR_MS, { id: 'twice', source: 'src_2' }),
    aMessage(2, NOW - HOUR_MS),
  ];
  const pages = await pagesOf(records, { message: 'twice' });
  expect(pages.map(({ found }) => found.map(({ head }) => head.sourceId))).toEqual([
    ['src_2'],
    ['src_1'],
  ]);
});

test('a user is found by anonymousId, and not by what stands elsewhere in a message', async () => {
  const value = (message: object) =>
    Buffer.from(JSON.stringify({ type: 'track', messageId: 'm', timestamp: 't', ...message }));
  const records = [
    { ...aMessage(0, NOW - 3), value: value({ anonymousId: 'u' }) },
    { ...aMessage(1, NOW - 2), value: value({ userId: 'other', properties: { userId: 'u' } }) },
  ];
  expect(idsOf(await pagesOf(records, { user: 'u' }))).toEqual(['m-0']);
});

test('a deleted user is not found', async () => {
  expect(idsOf(await pagesOf(WEEK, { user: 'user-2' }, { isForgotten: () => true }))).toEqual([]);
});

test('a record of a newer format ends the search, which says so', async () => {
  const records = [aMessage(0, NOW - 1, { format: '999' })];
  await expect(pagesOf(records, { user: 'user-1' })).rejects.toThrow('written by a newer Waypost');
});
