import { type Database, type Param, type Row } from '../../../../services/control/history/database';
import { storeEvents } from '../../../support/store-events';
import { entriesOf, unpack } from '../../../../services/control/search/pack-texts';
import { coverageOf } from '../../../../services/control/search/store';
import { encodeDelivery } from '../../../../shared/model/delivery';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { dropDeliveries, memoryDatabase } from '../../../support/database';
import { aFailure, anEvent } from '../../../support/events';
import { aDelivery } from '../../../support/factories';

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  control = await controlUnderTest({ database });
  control.clock.now = new Date();
  await dropDeliveries(database);
  for (const table of ['counts', 'search_chunks', 'positions', 'deletions']) {
    await database.query(`delete from waypost.${table}`);
  }
  await database.query(`delete from waypost.meta where key like 'search%'`);
});

interface Sent {
  id: string;
  agoMs?: number;
  userId?: string;
  event?: string;
  body?: string;
  dead?: boolean;
}

/** Appends the record of a delivery, and stores its attempt. */
async function sent({
  id,
  agoMs = 1_000,
  userId = 'user-1',
  event = 'Order Completed',
  body = '{}',
  dead,
}: Sent) {
  const acceptedAt = control.clock.now.getTime() - agoMs;
  const expiresAt = acceptedAt + 1_000;
  const delivery = aDelivery({ id, messageId: `msg-${id}`, event, userId, acceptedAt, expiresAt });
  control.memory.append([
    { topic: 'webhooks', key: 'k', value: body, headers: encodeDelivery(delivery) },
  ]);
  const about = {
    delivery: id,
    message: delivery.messageId,
    event,
    userId,
    acceptedAt: new Date(acceptedAt).toISOString(),
  };
  await storeEvents(database, [dead ? aFailure(about) : anEvent(about)]);
}

/** Reads new records, and drops the texts of deleted users and old ones. */
async function readBodies() {
  await control.readers.search.poll();
  await control.bodies.poll();
}

/** Returns the stored texts. */
async function texts(): Promise<string[]> {
  const chunks = await database.query<{ data: string }>('select data from waypost.search_chunks');
  const unpacked = await Promise.all(chunks.map(({ data }) => unpack(data)));
  return unpacked.flatMap(entriesOf).map(({ text }) => text);
}

const get = (query: string) => control.get(`/deliveries?${query}`);
const ids = async (query: string) =>
  ((await get(query)).data as { id: string }[]).map(({ id }) => id);

describe('a search', () => {
  beforeEach(async () => {
    await sent({
      id: 'dlv_1',
      agoMs: 3_000,
      body: '{"properties":{"orderId":"A-1701","note":"say \\"hello\\""}}',
    });
    await sent({
      id: 'dlv_2',
      agoMs: 2_000,
      userId: 'Jane@Example.com',
      body: '{"properties":{"total":17.5}}',
      dead: true,
    });
    await sent({ id: 'dlv_3', agoMs: 1_000, event: 'Über uns', body: '{"orderId":"a-1702"}' });
    await readBodies();
  });

  test.each([
    ['q=A-170', ['dlv_3', 'dlv_1']],
    ['q=a-1701', ['dlv_1']],
    ['q=example.COM', ['dlv_2']],
    ['q=msg-dlv_2', ['dlv_2']],
    ['q=ÜBER', ['dlv_3']],
    ['q=order%20compl', ['dlv_2', 'dlv_1']],
    ['q=say%20"HELLO"', ['dlv_1']],
    // In quotes: the value alone, and no longer one that begins with it.
    ['q="a-1702"', ['dlv_3']],
    ['q="A-170"', []],
    ['q=order%20compl&status=retrying', ['dlv_2']],
    ['q=a-170&event=Order%20Completed', ['dlv_1']],
    ['q=nothing', []],
  ])('a search finds by %s', async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  test('a search is paged, and says which times it covers', async () => {
    const first = await get('q=a-170&limit=1');
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(['dlv_3']);
    const rest = await get(`q=a-170&limit=1&after=${first.next}`);
    expect(rest).toMatchObject({
      data: [{ id: 'dlv_1' }],
      next: null,
      searched: { complete: true },
    });
    const { from, to } = rest.searched;
    expect([Date.parse(to), Date.parse(from)]).toEqual([
      control.clock.now.getTime(),
      control.clock.now.getTime() - 2 * 86_400_000,
    ]);
    expect(await get('limit=1')).not.toHaveProperty('searched');
  });

  test('another process continues where the last one stopped', async () => {
    const { memory } = control;
    control = await controlUnderTest({ database, memory });
    control.clock.now = new Date();
    expect(await ids('q=a-170')).toEqual(['dlv_3', 'dlv_1']);
    await sent({ id: 'dlv_4', body: '{"orderId":"A-1703"}' });
    await readBodies();
    await readBodies();
    expect(await ids('q=a-170')).toEqual(['dlv_4', 'dlv_3', 'dlv_1']);
    expect(await texts()).toHaveLength(4);
  });

  test('small chunks are merged, and old ones are dropped', async () => {
    control.clock.now = new Date(control.clock.now.getTime() + 61_000);
    await sent({ id: 'dlv_4', body: '{"orderId":"A-1703"}' });
    await readBodies();
    const chunks = () => database.query('select seq from waypost.search_chunks');
    expect(await chunks()).toHaveLength(1);
    expect(await ids('q=a-170')).toEqual(['dlv_4', 'dlv_3', 'dlv_1']);
    control.clock.now = new Date(control.clock.now.getTime() + 3 * 86_400_000);
    await readBodies();
    expect(await chunks()).toHaveLength(0);
  });

  test('a search finds what is merged while it searches', async () => {
    const wanted = Array.from({ length: 6 }, (_, i) => `dlv_${i + 1}0`);
    control.clock.now = new Date(control.clock.now.getTime() + 61_000);
    for (const [i, id] of wanted.entries()) {
      await sent({ id, agoMs: 600 - 100 * i, body: '{"note":"the needle"}' });
      // Each of them is a chunk.
      await control.readers.search.poll();
    }
    let looks = 0;
    const query = async <T extends Row>(sql: string, params?: readonly Param[]) => {
      if (sql.includes('from waypost.search_chunks') && ++looks === 2) await control.bodies.poll();
      return database.query<T>(sql, params);
    };
    const other = { database: { ...database, query }, memory: control.memory };
    const searching = await controlUnderTest(other);
    searching.clock.now = control.clock.now;
    const { data, searched } = await searching.get('/deliveries?q=needle');
    expect(looks).toBeGreaterThan(1);
    expect([data.map(({ id }: { id: string }) => id), searched.complete]).toEqual([
      wanted.toReversed(),
      true,
    ]);
  });

  test('a deleted user is not found, and the stored texts are rewritten', async () => {
    const deleted = await control.call('post', '/deletions').send({ userIds: ['user-1'] });
    expect(deleted.status).toBe(202);
    const left = async () => (await texts()).join();
    expect(await left()).toContain('a-1701');
    expect(await ids('q=a-170')).toEqual([]);
    await readBodies();
    expect(await left()).not.toContain('a-1701');
    expect(await ids('q=example.com')).toEqual(['dlv_2']);
  });

  test('a search beyond the size limit says that it is not complete', async () => {
    const { memory } = control;
    control = await controlUnderTest({ database, memory, maxSearchBytes: 1 });
    control.clock.now = new Date();
    await readBodies();
    expect(await get('q=a-170')).toMatchObject({ data: [], searched: { complete: false } });
    const since = new Date(Date.now() - 500).toISOString();
    expect(await get(`q=a-170&since=${since}`)).toMatchObject({ searched: { complete: true } });
  });

  test('records that were not read yet are not covered', async () => {
    control.clock.now = new Date(control.clock.now.getTime() + 120_000);
    await sent({ id: 'dlv_5', body: '{"orderId":"A-1705"}' });
    const { data, searched } = await get('q=a-170');
    expect(data).toHaveLength(2);
    expect(searched.complete).toBe(false);
    expect(Date.parse(searched.to)).toBeLessThan(control.clock.now.getTime() - 100_000);
  });
});

test.each([
  ['nothing before the first look', { positions: [], droppedTo: 0 }, { from: 1_000, to: 1_000 }],
  [
    'the time since the reader began',
    { positions: [{ partition: 0, next: 5, last: null, sinceMs: 600, readMs: 900 }], droppedTo: 0 },
    { from: 600, to: 1_000 },
  ],
  [
    'no dropped texts, and no unread records',
    {
      positions: [{ partition: 0, next: 4, last: null, sinceMs: 600, readMs: 900 }],
      droppedTo: 700,
    },
    { from: 700, to: 900 },
  ],
])('the searchable time is %s', (_, stored, expected) => {
  const ends = [{ partition: 0, low: 0, high: 5 }];
  expect(coverageOf(stored, ends, { nowMs: 1_000, retentionMs: 800 })).toEqual(expected);
});
