import { type Database, type Transaction } from '../../services/control/history/database';
import { newNotice } from '../../services/control/alerts/notice';
import { acknowledgeAll, storeDecision } from '../../services/control/alerts/store';
import { Forgotten, recordDeletion } from '../../services/control/history/deletions';
import { StoredDeliveries } from '../../services/control/history/stored-deliveries';
import { migrate } from '../../services/control/history/schema';
import { keepWithin } from '../../services/control/history/retention';
import { readParts } from '../../services/control/history/record-events';
import { openPostgres } from '../../services/control/history/postgres';
import { type TablePartition } from '../../services/control/history/table-partitions';
import { type DeliveryEvent } from '../../shared/model/attempt-events';
import { createLog } from '../../shared/telemetry/log';
import { dropDeliveries, freezer, type PostgresServer, postgresServer } from '../support/database';
import { eventually } from '../support/eventually';
import { aFailure, anEvent, START } from '../support/events';
import { storeEvents } from '../support/store-events';

/**
 * Processes that write the history at the same time: a delivery may have events in two partitions
 * of `attempts`, which two processes read.
 */

let server: PostgresServer;
let one: Database;
let other: Database;
let third: Database;
let watch: Database;
let parts: TablePartition[] = [];
beforeAll(async () => {
  server = await postgresServer();
  const open = () => openPostgres(server.url);
  [one, other, third, watch] = await Promise.all([open(), open(), open(), open()]);
  await migrate(one);
}, 120_000);
afterAll(async () => {
  await Promise.all([one, other, third, watch].map((database) => database.close()));
  await server.stop();
});
beforeEach(async () => {
  await dropDeliveries(one);
  parts = [];
  await storeEvents(one, [aFailure({ delivery: 'known' })], parts);
});

/** Waits until so many processes wait for a lock. */
const waiting = (count: number) =>
  eventually(async () => {
    const [row] = await watch.query<{ count: number }>(
      'select count(distinct pid)::int as count from pg_locks where not granted',
    );
    expect(row?.count).toBe(count);
  });
const later = (delivery: string) => aFailure({ delivery, n: 2, hop: 1 });
const made = async () => {
  const rows = await one.query<{ id: string; made: number }>(
    'select id, made from waypost.deliveries order by id',
  );
  return rows.map(({ id, made: attempts }) => `${id} ${String(attempts)}`);
};

/** Returns the database of the first process, with other parts in each transaction. */
function withTransactions(change: (transaction: Transaction) => Partial<Transaction>): Database {
  return {
    ...one,
    transaction: (work) =>
      one.transaction((transaction) => work({ ...transaction, ...change(transaction) })),
  };
}

/** Does this work in a transaction that stays open. @returns what undoes it */
async function holding(work: (transaction: Transaction) => Promise<unknown>) {
  const { freeze, frozen, thaw } = freezer();
  const ended = third
    .transaction(async (transaction) => {
      await work(transaction);
      await freeze();
      throw new Error('undone');
    })
    .catch(() => undefined);
  await frozen;
  return async () => {
    thaw();
    await ended;
  };
}

test.each<[string, (delivery: string) => DeliveryEvent]>([
  ['new', (delivery) => anEvent({ delivery, n: 1 })],
  ['known', later],
])(
  'two processes whose events are in opposite orders both write their %s rows',
  async (kind, event) => {
    const ids = ['a', 'm', 'z'];
    const events = ids.map(event);
    if (kind === 'known') {
      await storeEvents(
        one,
        ids.map((delivery) => aFailure({ delivery })),
        parts,
      );
    }
    const undo = await holding((transaction) =>
      kind === 'known'
        ? transaction.query(`select 1 from waypost.deliveries where id = 'm' for update`)
        : storeEvents(
            { ...third, transaction: (work) => work(transaction) },
            [event('m')],
            [...parts],
          ),
    );
    const writes = [storeEvents(one, events.toReversed(), [...parts])];
    await waiting(1);
    writes.push(storeEvents(other, events, [...parts]));
    await waiting(2);
    await undo();
    await Promise.all(writes);
    const attempts = kind === 'known' ? 2 : 1;
    expect(await made()).toEqual(
      [...ids.map((id) => `${id} ${String(attempts)}`), 'known 1'].sort(),
    );
  },
);

test('two processes both write a delivery that exists and one that does not', async () => {
  const { freeze, frozen, thaw } = freezer();
  const pausing = withTransactions((transaction) => ({
    copy: async (table, columns, rows) => {
      await transaction.copy(table, columns, rows);
      if (table === 'waypost.deliveries') await freeze();
    },
  }));
  const first = aFailure({ delivery: 'new' });
  const writes = [storeEvents(pausing, [first, later('known')], [...parts])];
  await frozen;
  writes.push(storeEvents(other, [later('new'), later('known')], [...parts]));
  await waiting(1);
  thaw();
  await Promise.all(writes);
  expect(await made()).toEqual(['known 2', 'new 2']);
});

test('if two processes make the same partition, one begins anew and writes its rows', async () => {
  const processOn = async (database: Database) => {
    const stored = new StoredDeliveries({
      keep: { forMs: 86_400_000, maxBytes: 1e9 },
      now: () => START,
      log: createLog('test', 'silent'),
      forgotten: new Forgotten(),
    });
    await stored.open(database);
    return stored;
  };
  const [first, second] = [await processOn(one), await processOn(other)];
  const acceptedAt = new Date(START + 2 * 86_400_000).toISOString();
  const write = async (database: Database, stored: StoredDeliveries, delivery: string) => {
    const committed = await database.transaction((transaction) =>
      stored.record(transaction, [aFailure({ delivery, acceptedAt })]),
    );
    committed();
  };
  const { freeze, frozen, thaw } = freezer();
  const pausing = withTransactions((transaction) => ({
    query: async (sql, params) => {
      if (sql.includes('insert into waypost.parts')) await freeze();
      return transaction.query(sql, params);
    },
  }));
  const writing = write(pausing, first, 'first');
  await frozen;
  const refused = expect(write(other, second, 'second')).rejects.toMatchObject({ code: '42P07' });
  await waiting(1);
  thaw();
  await Promise.all([writing, refused]);
  await write(other, second, 'second');
  expect(await made()).toEqual(['first 1', 'known 1', 'second 1']);
});

test('no count is lost if two processes count for destinations in opposite orders', async () => {
  await one.query('delete from waypost.counts');
  const { freeze, frozen, thaw } = freezer();
  const pausing = withTransactions((transaction) => ({
    query: async (sql, params) => {
      if (sql.includes('insert into waypost.counts')) await freeze();
      return transaction.query(sql, params);
    },
  }));
  const events = (ids: string[], destinations: string[]) =>
    ids.map((delivery, i) => anEvent({ delivery, destination: destinations[i]! }));
  const writes = [storeEvents(pausing, events(['1', '2'], ['dst_a', 'dst_b']), [...parts])];
  await frozen;
  writes.push(storeEvents(other, events(['3', '4'], ['dst_b', 'dst_a']), [...parts]));
  await waiting(1);
  thaw();
  await Promise.all(writes);
  const counted = await one.query(
    'select destination, delivered from waypost.counts where minutes = 1 order by destination',
  );
  expect(counted).toEqual([
    { destination: '', delivered: 4 },
    { destination: 'dst_a', delivered: 2 },
    { destination: 'dst_b', delivered: 2 },
  ]);
});

const aDeletion = (id: string, user: string, visitor: string) => ({
  id,
  at: Date.now(),
  users: [user],
  anonymous: [visitor],
  sources: null,
  affected: [],
  messages: 0,
});

test('a deletion of very many rows takes longer than queries may', async () => {
  await storeEvents(one, [aFailure({ delivery: 'ann', userId: 'ann' })], parts);
  const limitMs = 50;
  const hurried: Database = {
    ...other,
    transaction: (work) =>
      other.transaction(async (transaction) => {
        await transaction.query(`set local statement_timeout = ${String(limitMs)}`);
        return work(transaction);
      }),
  };
  const undo = await holding((transaction) =>
    transaction.query(`select 1 from waypost.deliveries where id = 'ann' for update`),
  );
  const deletion = recordDeletion(hurried, aDeletion('del_1', 'ann', 'v1'));
  const isLate = eventually(async () => {
    const [late] = await watch.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock'
       and clock_timestamp() - query_start > interval '${String(2 * limitMs)} ms'`,
    );
    expect(late).toBeDefined();
  });
  await Promise.race([isLate, deletion]).finally(undo);
  expect(await deletion).toBe(1);
});

/** More than a sixteenth of it is in the partition of the test, which therefore ends. */
const SMALL = { forMs: 1e12, maxBytes: 1 };

test('others read and write a partition while its rows are checked because it ends', async () => {
  const { freeze, frozen, thaw } = freezer();
  const pausing = withTransactions((transaction) => ({
    query: async (sql, params) => {
      try {
        return await transaction.query(sql, params);
      } finally {
        if (/(validate|attach) /.test(sql)) await freeze();
      }
    },
  }));
  const ending = keepWithin(pausing, SMALL, START);
  await frozen;
  const hurried: Database = {
    ...other,
    transaction: (work) =>
      other.transaction(async (transaction) => {
        await transaction.query(`set local lock_timeout = '5s'`);
        return work(transaction);
      }),
  };
  const written = storeEvents(hurried, [later('known'), anEvent({ delivery: 'new' })], [...parts]);
  const ids = written.then(made);
  await ids.catch(() => undefined).finally(thaw);
  await ending;
  expect(await ids).toEqual(['known 2', 'new 1']);
});

test('rows that come late for the end of a partition are in the next one', async () => {
  const before = parts[0]!;
  const [{ to }] = (await keepWithin(one, SMALL, START)) as [TablePartition];
  const beyond = anEvent({ delivery: 'new', acceptedAt: new Date(to).toISOString() });
  // Two processes that do not know of the end yet.
  const unaware = [...parts];
  await expect(storeEvents(other, [beyond], unaware)).rejects.toMatchObject({ code: '23514' });
  await Promise.all([storeEvents(one, [beyond]), storeEvents(other, [later('known')], unaware)]);
  expect(await made()).toEqual(['known 2', 'new 1']);
  expect((await readParts(one)).map((part) => [part.from, part.to]).toSorted()).toEqual([
    [before.from, to],
    [to, before.to],
  ]);
});

/** As a copy of the whole database does for hours. */
const reading = () => holding(({ query }) => query('select from waypost.deliveries'));

test('a partition is made while others read the whole table', async () => {
  const undo = await reading();
  const acceptedAt = new Date(START - 1e9).toISOString();
  const written = storeEvents(other, [aFailure({ delivery: 'new', acceptedAt })]);
  await written.finally(undo);
  expect(await made()).toEqual(['known 1', 'new 1']);
});

test.each<[string, () => Promise<unknown>]>([
  ['ended', () => keepWithin(other, SMALL, START)],
  ['dropped', () => keepWithin(other, { forMs: 0, maxBytes: 1 }, START + 1e9)],
])('a partition is not %s while others would have to wait', async (_, work) => {
  const undo = await reading();
  const tried = work();
  await expect(tried).rejects.toMatchObject({ code: '55P03' }).finally(undo);
  await work();
});

test('a deletion removes the rows of one partition in a transaction', async () => {
  const days = [1, 2, 3].map((day) => START - day * 86_400_000);
  await storeEvents(
    one,
    days.map((day) => {
      const acceptedAt = new Date(day).toISOString();
      return aFailure({ delivery: acceptedAt, userId: 'ann', acceptedAt });
    }),
    parts,
  );
  const left = [(await made()).length];
  const watched: Database = {
    ...other,
    transaction: async (work) => {
      const result = await other.transaction(work);
      left.push((await made()).length);
      return result;
    },
  };
  expect(await recordDeletion(watched, aDeletion('del_1', 'ann', 'v1'))).toBe(days.length);
  expect(await made()).toEqual(['known 1']);
  const removed = left.map((count, i) => (left[i - 1] ?? count) - count);
  expect(Math.max(...removed)).toBe(1);
});

test('two deletions whose users and visitors have the same rows both remove them', async () => {
  await storeEvents(
    one,
    [
      aFailure({ delivery: 'ann', userId: 'ann', anonymousId: 'v2' }),
      aFailure({ delivery: 'bob', userId: 'bob', anonymousId: 'v1' }),
    ],
    parts,
  );
  const { freeze, frozen, thaw } = freezer();
  const pausing = withTransactions((transaction) => ({
    query: async (sql, params) => {
      if (sql.includes('anonymous_id in')) await freeze();
      return transaction.query(sql, params);
    },
  }));
  const deletions = [recordDeletion(pausing, aDeletion('del_1', 'ann', 'v1'))];
  await frozen;
  deletions.push(recordDeletion(other, aDeletion('del_2', 'bob', 'v2')));
  await waiting(1);
  thaw();
  const rows = await Promise.all(deletions);
  expect(rows[0]! + rows[1]!).toBe(2);
  expect(await made()).toEqual(['known 1']);
});

test('notices are acknowledged while alerts end them in another order', async () => {
  const about = { kind: 'failing' as const, name: '', since: 0, at: 0, error: null };
  const raised = ['a', 'm', 'z'].map((id) => ({
    ...newNotice({ ...about, destination: id }, 0),
    id,
  }));
  const decision = { raised: [], ended: [], due: [] };
  await storeDecision(one, { ...decision, raised });
  const ended = raised.map(({ id }) => {
    return { id, endedAt: 1, alert: 'none' as const, followedBy: null };
  });
  const undo = await holding(({ query }) =>
    query(`select 1 from waypost.notices where id = 'm' for update`),
  );
  const writes: Promise<unknown>[] = [
    one.transaction((queries) =>
      storeDecision(queries, { ...decision, ended: ended.toReversed() }),
    ),
  ];
  await waiting(1);
  writes.push(acknowledgeAll(other, {}, { at: 2, by: { id: 'tok_1', name: 'Kim' } }));
  await waiting(2);
  await undo();
  await Promise.all(writes);
  const left = await one.query(
    'select 1 from waypost.notices where ended_at is null or acknowledged is null',
  );
  expect(left).toEqual([]);
});
