import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { newNotice, type Notice } from '../../services/control/alerts/notice';
import { evidenceOf } from '../../services/control/health/attempt-evidence';
import {
  dropFacts,
  healthOfSome,
  lockHealth,
  readFacts,
  storeEvidence,
  troubled,
} from '../../services/control/health/store';
import {
  acknowledge,
  addNotices,
  dueNotices,
  endNotices,
  getNotice,
  listNotices,
  type NoticeFilter,
  settleAlerts,
} from '../../services/control/alerts/store';
import {
  endedSessions,
  recordTokenUses,
  sessionKeys,
  tokenUses,
} from '../../services/control/auth/store';
import {
  beginPositions,
  type Move,
  movePositions,
  readPositions,
} from '../../services/control/reading/positions';
import { openCircuits } from '../../services/control/history/circuits';
import { type Database, type Transaction } from '../../services/control/history/database';
import {
  type AuditFilter,
  auditId,
  type AuditRow,
  listAudit,
  recordAudit,
} from '../../services/control/history/audit';
import {
  Forgotten,
  getDeletion,
  listDeletions,
  recordDeletion,
} from '../../services/control/history/deletions';
import { dropLease, type Lease, takeLease } from '../../services/control/history/leases';
import {
  addJob,
  cancelJob,
  claimJobs,
  getJob,
  isFree,
  knownOf,
  listJobs,
  releaseJob,
  renewJob,
  resultsOf,
  resumeJob,
  saveJob,
  saveResults,
} from '../../services/control/replays/store';
import { type Job, newJob } from '../../services/control/replays/job';
import { REPLAYED } from '../../shared/model/reasons';
import { type Cursor } from '../../services/control/history/newest';
import { openPglite } from '../../services/control/history/pglite';
import { openPostgres } from '../../services/control/history/postgres';
import { type Filter } from '../../services/control/history/filter';
import {
  CountSums,
  type Kind as CountKind,
  type MinuteCount,
} from '../../services/control/history/minute-counts';
import { addCounts, ALL, keepCounts } from '../../services/control/history/stored-counts';
import { type TablePartition } from '../../services/control/history/table-partitions';
import { type DeliveryRow } from '../../services/control/history/delivery-row';
import {
  countDeliveries,
  countsBetween,
  countsInSteps,
  getDelivery,
  listDeliveries,
  openDeliveries,
} from '../../services/control/history/queries';
import { type Admit, readParts } from '../../services/control/history/record-events';
import { storeEvents } from '../support/store-events';
import { parseEvents } from '../../services/control/history/parse-events';
import { cleanUp, keepWithin } from '../../services/control/history/retention';
import { addEventNames, listEventNames } from '../../services/control/sources/store';
import {
  listSyncs,
  saveSyncs,
  sizesOf,
  type SyncRow,
  thinSyncs,
} from '../../services/control/history/syncs';
import { readResponses } from '../../services/control/deliveries/stored-responses';
import { migrate } from '../../services/control/history/schema';
import {
  dropVersions,
  readVersions,
  recordVersions,
} from '../../services/control/history/destination-versions';
import { BodyIndex } from '../../services/control/search/body-index';
import { unpack } from '../../services/control/search/pack-texts';
import { searchDeliveries } from '../../services/control/search/search';
import { type Destination } from '../../shared/model/config';
import { encodeDelivery } from '../../shared/model/delivery';
import { memoryLog } from '../support/memory-log';
import { readerOf } from '../support/reader';
import {
  type CircuitEvent,
  type DeliveryEvent,
  type NoticeEvent,
} from '../../shared/model/attempt-events';
import { dropDeliveries, type PostgresServer, postgresServer } from '../support/database';
import { eventually } from '../support/eventually';
import {
  aCancellation,
  aDeath,
  aFailure,
  anEvent,
  at,
  aUrl,
  aWait,
  START,
} from '../support/events';
import { copyHistoryFiles } from '../support/history-files';
import { aDelivery } from '../support/factories';
import { aSuccess, rowsOf } from '../support/successes';

/**
 * The history on both databases: rows written from events, found by filters and dropped in time.
 */

interface Kind {
  open(): Promise<Database>;
  remove(): Promise<void>;
}

const kinds: Record<string, () => Promise<Kind>> = {
  PGlite: () => {
    const dir = mkdtempSync(join(tmpdir(), 'waypost-history-'));
    copyHistoryFiles(dir);
    const remove = () => {
      rmSync(dir, { recursive: true, force: true });
      return Promise.resolve();
    };
    return Promise.resolve({ open: () => openPglite(join(dir, 'history')), remove });
  },
  PostgreSQL: async () => {
    const server: PostgresServer = await postgresServer();
    return { open: () => openPostgres(server.url), remove: () => server.stop() };
  },
};

describe.each(Object.keys(kinds))('%s', (name) => {
  let kind: Kind;
  let database: Database;
  let parts: TablePartition[] = [];
  beforeAll(async () => {
    kind = await kinds[name]!();
    database = await kind.open();
    await migrate(database);
  });
  afterAll(async () => {
    await database.close();
    await kind.remove();
  });
  beforeEach(async () => {
    await dropDeliveries(database);
    for (const table of [
      'counts',
      'circuits',
      'deletions',
      'replays',
      'audit',
      'health',
      'positions',
      'notices',
      'facts',
      'syncs',
      'leases',
      'session_keys',
      'ended_sessions',
      'token_uses',
      'destination_versions',
      'search_chunks',
      'positions',
    ]) {
      await database.query(`delete from waypost.${table}`);
    }
    await database.query(`delete from waypost.meta where key <> 'version'`);
    await database.query('update waypost.counted set minutes_from = 0, hours_to = 0');
    parts = [];
  });
  const record = (...events: (DeliveryEvent | CircuitEvent)[]) =>
    storeEvents(database, events, parts);
  const list = async (filter: Filter = {}, limit = 100) =>
    (await listDeliveries(database, filter, { limit })).rows.map(({ id }) => id);
  const indexesOf = async (part: string) =>
    (
      await database.query('select 1 from pg_indexes where schemaname = $1 and tablename = $2', [
        'waypost',
        part,
      ])
    ).length;
  const total = async (kind: CountKind) => {
    const ever = { sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER };
    return (await countsBetween(database, ever, [ALL]))[0]?.[kind] ?? 0;
  };

  test('creates its tables once', async () => {
    const tables = () =>
      database.query('select tablename from pg_tables where schemaname = $1', ['waypost']);
    const before = await tables();
    await migrate(database);
    expect(await tables()).toEqual(before);
  });

  /** Notes the plan of each query. */
  const explaining = (plans: string[]): Database => ({
    ...database,
    query: async (sql, params) => {
      plans.push(JSON.stringify(await database.query(`explain ${sql}`, params)));
      return database.query(sql, params);
    },
  });

  /** of a partition, with its primary key */
  const INDEXES = 18;
  test('creates the indexes of a partition when complete, or immediately on a server', async () => {
    await record(anEvent());
    const [{ name: part }] = parts as [TablePartition];
    expect(await indexesOf(part)).toBe(database.kind === 'server' ? INDEXES : 1);
    const later = START + 2 * 86_400_000;
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, later, {
      written: new Map([[part, 1]]),
    });
    expect(await indexesOf(part)).toBe(database.kind === 'server' ? INDEXES : 1);
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, later);
    expect(await indexesOf(part)).toBe(INDEXES);
    await record(
      anEvent({ delivery: 'dlv_2', userId: 'user-2' }),
      aFailure({ n: 2, hop: 1, at: at(70) }),
    );
    expect(await list({ user: 'user-2' })).toEqual(['dlv_2']);
  });

  test('finds deliveries that ended in a part of the time by an index, among many', async () => {
    await record(aDeath({ delivery: 'dlv_0' }));
    await database.query(
      `insert into waypost.deliveries (accepted_at, id, message, source, destination, type, user_id,
         status, settled_at, expires_at, replay, hop, made, test, record, tries)
       select accepted_at + n, 'dlv_' || n, message, source, destination, type, user_id,
         case n % 3 when 0 then 'delivered' else 'dead' end, settled_at + n * 1000,
         expires_at, replay, hop, made, test, record, tries
       from waypost.deliveries cross join generate_series(1, 9000) n where id = 'dlv_0'`,
    );
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, START + 2 * 86_400_000);
    const settledAt = (await getDelivery(database, 'dlv_0'))!.settledAt!;
    const range = { endedSince: settledAt + 20_000, endedUntil: settledAt + 30_000 };
    const plans: string[] = [];
    const explained = explaining(plans);
    const dead: Filter = { status: 'dead', ...range };
    const delivered: Filter = { status: 'delivered', counted: true, ...range };
    const found = async (filter: Filter) =>
      (await listDeliveries(explained, filter, { limit: 50 })).rows.map(({ id }) => id);
    expect(await found(dead)).toEqual([
      'dlv_29',
      'dlv_28',
      'dlv_26',
      'dlv_25',
      'dlv_23',
      'dlv_22',
      'dlv_20',
    ]);
    expect(await countDeliveries(explained, dead)).toEqual({ count: 7, exact: true });
    expect(await found(delivered)).toEqual(['dlv_27', 'dlv_24', 'dlv_21']);
    expect(await countDeliveries(explained, delivered)).toEqual({ count: 3, exact: true });
    // Each counts these first.
    expect(plans).toEqual(Array(8).fill(expect.stringContaining('_by_ended')));
  });

  test('finds attempted deliveries in an index, behind many not attempted yet', async () => {
    await record(aWait({ delivery: 'dlv_0' }));
    await database.query(
      `insert into waypost.deliveries (accepted_at, id, message, source, destination, type, user_id,
         status, expires_at, replay, hop, made, test, record, tries)
       select accepted_at + n, 'dlv_' || n, message, source, destination, type, user_id, status,
         expires_at, replay, hop, case when n < 5 then 1 else 0 end, test, record, tries
       from waypost.deliveries cross join generate_series(1, 9000) n where id = 'dlv_0'`,
    );
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, START + 2 * 86_400_000);
    const filter: Filter = { destination: 'dst_1', attempted: true };
    const plans: string[] = [];
    const found = await listDeliveries(explaining(plans), filter, { limit: 3 });
    expect(found.rows.map(({ id }) => id)).toEqual(['dlv_4', 'dlv_3', 'dlv_2']);
    expect(plans).toEqual([expect.stringContaining('_by_attempted')]);
  });

  test('runs each migration once', async () => {
    const steps = [
      ['create table waypost.later (a int)'],
      ['alter table waypost.later add column b int'],
    ];
    await migrate(database, steps.slice(0, 1));
    await migrate(database, steps);
    await migrate(database, steps);
    await database.query('insert into waypost.later (a, b) values (1, 2)');
    await expect(migrate(database)).rejects.toMatchObject({ code: 'newer_format' });
    await database.query('drop table waypost.later');
    await database.query(`update waypost.meta set value = '22' where key = 'version'`);
  });

  test('refuses tables of a newer version, and of an earlier build in one sentence', async () => {
    const setVersion = (version: string) =>
      database.query(`update waypost.meta set value = $1 where key = 'version'`, [version]);
    await setVersion('999');
    await expect(migrate(database)).rejects.toMatchObject({ code: 'newer_format' });
    await setVersion('21');
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'older_format',
      message: expect.stringMatching(/tables of version 21.*`waypost export` with that build/),
    });
    await setVersion('22');
  });

  test('returns a delivery with the state of its events', async () => {
    await record(aFailure());
    await record(anEvent({ n: 2, hop: 1, at: at(12) }));
    const row = await getDelivery(database, 'dlv_1');
    expect(row).toMatchObject({
      status: 'delivered',
      made: 2,
      acceptedAt: START,
      userId: 'user-1',
    });
    expect(row!.tries.map(({ outcome }) => outcome)).toEqual(['retry', 'delivered']);
    expect(await getDelivery(database, 'dlv_none')).toBeUndefined();
  });

  test('finds the members of each batch of a delivery, also in an indexed partition', async () => {
    const sent = (id: string, index: number) => [
      aUrl({ outcome: 'retry', batch: { id, size: 2, index, first: 'dlv_1' } }),
    ];
    await record(
      aFailure({ urls: sent('bat_-_1', 0) }),
      aFailure({ delivery: 'dlv_2', urls: sent('bat_-_1', 1) }),
    );
    await record(
      anEvent({ n: 2, hop: 1, at: at(11), urls: sent('bat_2', 0) }),
      anEvent({ delivery: 'dlv_3' }),
    );
    const found = async () => [
      await list({ batch: 'bat_-_1' }),
      await list({ batch: 'bat_2', destination: 'dst_1' }),
    ];
    expect(await found()).toEqual([['dlv_2', 'dlv_1'], ['dlv_1']]);
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, START + 2 * 86_400_000);
    expect(await found()).toEqual([['dlv_2', 'dlv_1'], ['dlv_1']]);
  });

  test('stores and counts repeated events once, however batches divide them', async () => {
    const story = [
      aFailure(),
      aWait({ n: 1, hop: 1 }),
      aFailure({ n: 2, hop: 2, at: at(70) }),
      aDeath({ n: 2, hop: 3, at: at(90) }),
    ];
    const others = [anEvent({ delivery: 'dlv_2' }), aCancellation({ delivery: 'dlv_3' })];
    await record(...story.slice(0, 2), others[0]!);
    await record(...story, ...others);
    await record(...story, ...others);
    expect(await list()).toEqual(['dlv_3', 'dlv_2', 'dlv_1']);
    expect(await getDelivery(database, 'dlv_1')).toMatchObject({ status: 'dead', made: 2 });
    expect([await total('attempts'), await total('failed'), await total('dead')]).toEqual([
      3, 2, 1,
    ]);
    expect([await total('delivered'), await total('cancelled')]).toEqual([1, 1]);
  });

  test('writes all of a batch or nothing', async () => {
    const impossible = anEvent({ delivery: 'dlv_2', hop: 2 ** 40 });
    await expect(record(anEvent(), impossible)).rejects.toMatchObject({
      code: expect.stringMatching(/^22/),
    });
    expect(await list()).toEqual([]);
    expect(parts).toEqual([]);
    expect(await readParts(database)).toEqual([]);
  });

  test('accepts texts that a database cannot hold', async () => {
    await record(anEvent({ userId: 'a\0b\ud800', reason: 'x\0' }));
    expect(await list({ user: 'a\0b\ufffd' })).toEqual(['dlv_1']);
  });

  test('counts names as one if they differ in characters that a database cannot hold', async () => {
    const seen = (name: string) => ({ source: 'src_1', name, count: 1, lastAt: START });
    const events = ['a\0', 'a\ud800', 'a\ufffd', 'b'].map(seen);
    await database.transaction((transaction) => addEventNames(transaction, events));
    const found = await listEventNames(database, 'src_1');
    expect(found.map(({ name: event, count }) => [event, count]).sort()).toEqual([
      ['a\ufffd', 3],
      ['b', 1],
    ]);
  });

  test('stores a user id of 20 KB shortened and finds the row by the whole id', async () => {
    // Random, because repetitive text is compressed and fits into an index.
    const userId = randomBytes(15_000).toString('base64');
    await record(anEvent({ userId }), anEvent({ delivery: 'dlv_2' }));
    expect(await list({ user: userId })).toEqual(['dlv_1']);
    expect((await getDelivery(database, 'dlv_1'))?.userId).toBe(
      `${userId.slice(0, 100)}…${hash('sha256', userId)}`,
    );
    parts = await keepWithin(database, { forMs: 1e12, maxBytes: 1e12 }, START + 2 * 86_400_000);
    expect(await indexesOf(parts[0]!.name)).toBe(INDEXES);
    const deletion = { at: START + 1, anonymous: [], sources: null, affected: [], messages: 0 };
    await recordDeletion(database, { id: 'del_1', ...deletion, users: [userId] });
    expect(await list()).toEqual(['dlv_2']);
  });

  test('indexes other partitions and deletes old ones although one cannot be indexed', async () => {
    const days = (n: number) => START + n * 86_400_000;
    const accepted = (n: number) => new Date(days(n)).toISOString();
    await record(
      anEvent({ acceptedAt: accepted(0) }),
      anEvent({ delivery: 'dlv_2', acceptedAt: accepted(1) }),
    );
    const [bad, good] = parts.map((part) => part.name);
    for (const part of [bad!, good!]) {
      for (const index of ['destination', 'source', 'status', 'type']) {
        await database.query(`drop index if exists waypost.${part}_by_${index}`);
      }
    }
    await database.query('update waypost.parts set indexed = false');
    const tooLong = randomBytes(15_000).toString('base64');
    await database.query(`update waypost.${bad!} set type = $1`, [tooLong]);
    await database.query(`insert into waypost.counts values ('', 60, 0, 1, 0, 1, 0, 0, 0, '0:1')`);
    const failures: string[] = [];
    const onFailure = (what: string) => failures.push(what);
    parts = await keepWithin(database, { forMs: days(10), maxBytes: 1e12 }, days(3), { onFailure });
    expect(failures).toEqual([bad]);
    expect(await indexesOf(good!)).toBe(INDEXES);
    parts = await keepWithin(database, { forMs: 86_400_000, maxBytes: 1e12 }, days(3), {
      onFailure,
    });
    expect(await total('delivered')).toBe(0);
    await expect(
      keepWithin(database, { forMs: days(10), maxBytes: 1e12 }, days(3)),
    ).resolves.toEqual([]);
  });

  describe('lists', () => {
    beforeEach(async () => {
      const events = Array.from({ length: 30 }, (_, i) =>
        anEvent({
          delivery: `dlv_${String(i).padStart(2, '0')}`,
          message: `msg-${i % 10}`,
          source: `src_${i % 3}`,
          destination: `dst_${i % 5}`,
          type: i % 2 === 0 ? 'track' : 'page',
          userId: `user-${i % 6}`,
          // Three rows a second, and a day between the halves.
          acceptedAt: at(Math.floor(i / 3) + (i < 15 ? 0 : 86_400)),
        }),
      );
      await record(
        ...events,
        aDeath({ delivery: 'dlv_dead', acceptedAt: at(1), userId: 'user-x' }),
      );
    });

    test.each<[string, Filter, number]>([
      ['without a filter', {}, 31],
      ['by destination', { destination: 'dst_4' }, 6],
      ['by source', { source: 'src_2' }, 10],
      ['by status', { status: 'dead' }, 1],
      ['by message', { message: 'msg-7' }, 3],
      ['by user', { user: 'user-5' }, 5],
      ['by type', { type: 'page' }, 15],
      ['from a time on', { since: START + 86_400_000 }, 15],
      ['until a time', { until: START + 1_000 }, 3],
      ['by several filters', { source: 'src_2', type: 'page', destination: 'dst_1' }, 1],
      ['by filters that exclude all of them', { source: 'src_2', status: 'dead' }, 0],
    ])('deliveries %s', async (_, filter, count) => {
      expect(await list(filter)).toHaveLength(count);
    });

    test('deliveries page by page, the newest first and each once', async () => {
      const { rows: all } = await listDeliveries(database, {}, { limit: 100 });
      const order = all.map(({ acceptedAt, id }) => `${acceptedAt} ${id}`);
      expect(order).toEqual([...order].sort().reverse());
      const paged: string[] = [];
      let after: { at: number; id: string } | undefined;
      for (;;) {
        const { rows: page } = await listDeliveries(
          database,
          { source: 'src_1' },
          { limit: 4, after },
        );
        paged.push(...page.map(({ id }) => id));
        const last = page.at(-1);
        if (!last) break;
        after = { at: last.acceptedAt, id: last.id };
      }
      expect(paged).toEqual(all.filter(({ source }) => source === 'src_1').map(({ id }) => id));
    });
  });

  test('lists unfinished deliveries and open circuits', async () => {
    const circuit = {
      kind: 'circuit',
      destination: 'dst_1',
      url: 'whk_1',
      origin: 'https://a.example',
      destinationVersion: 1,
      why: 'timeout',
    } as const;
    await record(
      aWait(),
      aFailure({ delivery: 'dlv_2' }),
      aFailure({ delivery: 'dlv_3' }),
      anEvent({ delivery: 'dlv_4' }),
      { ...circuit, state: 'open', at: at(1) },
      { ...circuit, state: 'closed', at: at(2) },
      { ...circuit, url: 'whk_2', state: 'open', at: at(3) },
    );
    const open = await openDeliveries(database, []);
    expect(open.map(({ status, count }) => [status, count]).sort()).toEqual([
      ['held', 1],
      ['retrying', 2],
    ]);
    await record({ ...circuit, url: 'whk_2', state: 'closed', at: at(2) });
    expect((await openCircuits(database)).map(({ url, at: since }) => [url, since])).toEqual([
      ['whk_2', Date.parse(at(3))],
    ]);
  });

  test('closes a circuit after a success that began later', async () => {
    const circuit = {
      kind: 'circuit',
      destination: 'dst_1',
      url: 'whk_1',
      origin: 'https://a.example',
    } as const;
    await record({ ...circuit, why: 'failed', state: 'open', at: at(10), destinationVersion: 3 });
    expect(await openCircuits(database)).toMatchObject([{ url: 'whk_1', version: 3 }]);
    await record(anEvent({ at: at(10) }));
    expect(await openCircuits(database)).toHaveLength(1);
    await record(anEvent({ delivery: 'dlv_2', at: at(20) }));
    expect(await openCircuits(database)).toEqual([]);
  });

  test('stores versions of destinations until no attempt can name them', async () => {
    const version = (number: number, seconds: number) => ({
      destination: 'dst_1',
      version: number,
      at: Date.parse(at(seconds)),
      data: number === 3 ? undefined : ({ id: 'dst_1', name: `v${String(number)}` } as Destination),
    });
    await recordVersions(database, [version(1, 1), version(2, 2)]);
    await recordVersions(database, [version(2, 2), version(3, 30)]);
    const known = async () => [
      ...(
        await readVersions(
          database,
          [1, 2, 3].map((each) => version(each, 0)),
        )
      ).keys(),
    ];
    expect((await known()).sort()).toEqual(['dst_1/1', 'dst_1/2']);
    await dropVersions(database, Date.parse(at(3)));
    expect(await known()).toEqual(['dst_1/2']);
    await dropVersions(database, Date.parse(at(31)));
    expect(await known()).toEqual([]);
  });

  test('reads bodies once, finds them, and rewrites those of deleted users', async () => {
    const memory = memoryLog();
    const forgotten = new Forgotten();
    const history = {
      forgotten,
      ask: <T>(work: (on: Database) => Promise<T>) => work(database),
      learnDeletions: () => forgotten.refresh(database, Date.now()),
    };
    const nowMs = Date.now();
    const sends = (id: string, userId: string, body: string) => {
      const times = { acceptedAt: nowMs - 1_000, expiresAt: nowMs };
      const headers = encodeDelivery(aDelivery({ id, messageId: `msg-${id}`, userId, ...times }));
      memory.append([{ topic: 'webhooks', key: 'k', value: body, headers }]);
      return record(
        anEvent({ delivery: id, userId, acceptedAt: new Date(nowMs - 1_000).toISOString() }),
      );
    };
    const retentionMs = 86_400_000;
    const newReader = () =>
      new BodyIndex({
        history,
        retentionMs,
        maxBytes: 1e9,
        now: () => new Date(nowMs),
        log: pino({ level: 'silent' }),
      });
    /** Each time by another process. */
    const look = async () => {
      const index = newReader();
      await readerOf(index.handler, { kafka: memory.kafka, history, nowMs: () => nowMs }).poll();
      await index.poll();
      await index.stop();
    };
    const found = async (query: string) => {
      const context = { kafka: memory.kafka, history, retentionMs, nowMs, steadyMs: () => 0 };
      const { rows, searched } = await searchDeliveries(
        context,
        { query, filter: {} },
        { limit: 10, after: undefined },
      );
      return [rows.map(({ id }) => id).sort(), searched.complete];
    };
    await sends('dlv_1', 'jane', '{"orderId":"A-1701"}');
    await look();
    await sends('dlv_2', 'kim', '{"orderId":"A-1702"}');
    expect(await found('a-170')).toEqual([['dlv_1'], true]);
    await look();
    await look();
    expect(await found('a-170')).toEqual([['dlv_1', 'dlv_2'], true]);
    const deletion = {
      id: 'del_1',
      at: nowMs,
      users: ['jane'],
      anonymous: [],
      sources: null,
      affected: [],
      messages: 0,
    };
    await recordDeletion(database, deletion);
    expect(await found('a-170')).toEqual([['dlv_2'], true]);
    await look();
    const chunks = await database.query<{ data: string }>('select data from waypost.search_chunks');
    const texts = await Promise.all(
      chunks.map(async ({ data }) => (await unpack(data)).text.toString()),
    );
    expect([texts.join().includes('a-1701'), texts.join().includes('a-1702')]).toEqual([
      false,
      true,
    ]);
  });

  test('keeps counts of a day by minute and older ones by hour, within their space', async () => {
    const HOUR = 3_600_000;
    const nowMs = 1_000 * HOUR + 30 * 60_000;
    const count = (ago: number, minute: number, destination = 'dst_1') => ({
      minute: 1_000 * HOUR - ago * HOUR + minute * 60_000,
      destination,
      what: 'delivered',
      count: 1,
    });
    const add = (...counts: MinuteCount[]) =>
      database.transaction((queries) => addCounts(queries, new CountSums(counts)));
    await add(count(30, 0), count(30, 1), count(25, 5), count(23, 1));
    await add(count(30, 2), count(0, 29), count(0, 7, 'dst_2'));
    const since = (hours: number) => ({ sinceMs: (1_000 - hours) * HOUR, untilMs: nowMs });
    const sums = async (span = since(40)) =>
      (await countsBetween(database, span, ['dst_1', 'dst_2'])).map(
        ({ destination, delivered }) => [destination, delivered],
      );
    const steps = async (stepMs: number, destination?: string, span = since(40)) =>
      (await countsInSteps(database, { ...span, stepMs, destination })).map(({ at, delivered }) => [
        1_000 - at / HOUR,
        delivered,
      ]);
    const rows = async () =>
      (await database.query<{ rows: number }>('select count(*) as rows from waypost.counts'))[0]!;
    const check = async () => {
      expect(new Map((await sums()) as [string, number][])).toEqual(
        new Map([
          ['dst_1', 6],
          ['dst_2', 1],
        ]),
      );
      expect(await steps(HOUR)).toEqual([
        [30, 3],
        [25, 1],
        [23, 1],
        [0, 2],
      ]);
      expect((await steps(HOUR / 2, 'dst_1')).slice(-2)).toEqual([
        [23, 1],
        [0, 1],
      ]);
      // A span that ends within an hour has what came before its end.
      const until = { ...since(40), untilMs: 1_000 * HOUR + 20 * 60_000 };
      expect((await steps(HOUR, undefined, until)).at(-1)).toEqual([0, 1]);
      expect(new Map((await sums(until)) as [string, number][]).get('dst_2')).toBe(1);
    };
    await check();
    const all = (await rows()).rows;
    const keep = { sinceMs: 0, maxBytes: 1e9 };
    await keepCounts(database, keep, nowMs);
    // The four minutes before the last day went, of one destination and of all. The hours came.
    expect((await rows()).rows).toBe(all - 8 + 2 * 4);
    await check();
    await add({ ...count(30, 7), count: 2 }, { ...count(30, 7), count: -2 });
    await check();
    await keepCounts(database, { ...keep, sinceMs: nowMs - 24 * HOUR }, nowMs);
    expect(new Map((await sums()) as [string, number][])).toEqual(
      new Map([
        ['dst_1', 2],
        ['dst_2', 1],
      ]),
    );
    await database.query('analyze waypost.counts');
    await keepCounts(database, { ...keep, maxBytes: 4 * 9 * 320 }, nowMs);
    // The latest minutes and the hours of the day remain, after its other minutes were too much.
    expect((await rows()).rows).toBe(8);
    expect(new Map((await sums()) as [string, number][]).get('dst_2')).toBe(1);
    // Afterwards there is room, and a late count comes for one of the minutes that went.
    await keepCounts(database, keep, nowMs);
    await add(count(23, 7, 'dst_2'), count(20, 7, 'dst_2'));
    for (const stepMs of [HOUR, HOUR / 2]) {
      expect(await steps(stepMs)).toEqual([
        [23, 2],
        [20, 1],
        [0, 2],
      ]);
    }
  });

  test('finds every delivery of one moment once, whatever its collation is', async () => {
    const memory = memoryLog();
    const history = {
      forgotten: new Forgotten(),
      ask: <T>(work: (on: Database) => Promise<T>) => work(database),
      learnDeletions: () => Promise.resolve(),
    };
    const nowMs = Date.now();
    const acceptedAt = nowMs - 1_000;
    const ids = Array.from({ length: 40 }, (_, i) => `${'aBbA-_9Zz'[i % 9]!}${'Qq'[i % 2]!}${i}`);
    memory.append(
      ids.map((id) => ({
        topic: 'webhooks',
        key: 'k',
        value: 'needle',
        headers: encodeDelivery(aDelivery({ id, acceptedAt, expiresAt: nowMs })),
      })),
    );
    const iso = new Date(acceptedAt).toISOString();
    await record(...ids.map((id) => anEvent({ delivery: id, acceptedAt: iso })));
    const log = pino({ level: 'silent' });
    const options = { history, retentionMs: 86_400_000, maxBytes: 1e9, log };
    const index = new BodyIndex({ ...options, now: () => new Date(nowMs) });
    await readerOf(index.handler, { kafka: memory.kafka, history, nowMs: () => nowMs }).poll();
    const context = {
      kafka: memory.kafka,
      history,
      retentionMs: options.retentionMs,
      nowMs,
      steadyMs: () => 0,
    };
    const walk = async (page: (after: Cursor | undefined) => Promise<DeliveryRow[]>) => {
      const found: string[] = [];
      for (let after: Cursor | undefined; ;) {
        const rows = await page(after);
        if (rows.length === 0) return found.sort();
        found.push(...rows.map(({ id }) => id));
        const last = rows.at(-1)!;
        after = { at: last.acceptedAt, id: last.id };
      }
    };
    const searched = await walk(
      async (after) =>
        (await searchDeliveries(context, { query: 'needle', filter: {} }, { limit: 7, after }))
          .rows,
    );
    const listed = await walk(
      async (after) => (await listDeliveries(database, {}, { limit: 7, after })).rows,
    );
    expect([searched, listed]).toEqual([[...ids].sort(), [...ids].sort()]);
  });

  test('stores each configuration change once and lists the newest first', async () => {
    const by = { id: 'tok_1', name: 'Kim', role: 'admin' } as const;
    const row = (version: number, over: Partial<AuditRow> = {}): AuditRow => ({
      kind: 'source',
      entry: 'src_1',
      version,
      at: START + version,
      action: 'changed',
      name: 'Site',
      by,
      changes: [{ field: 'name', from: 'a', to: 'b\0' }],
      ...over,
    });
    const rows = [
      row(1),
      row(2),
      row(1, { kind: 'token', entry: 'tok_2', by: { ...by, id: 'admin' } }),
    ];
    await recordAudit(database, rows);
    await recordAudit(database, [...rows, row(3)]);
    const found = async (filter: AuditFilter, page = { limit: 10 }) =>
      (await listAudit(database, filter, page)).rows.map(
        ({ entry, version }) => `${entry}.${version}`,
      );
    expect(await found({})).toEqual(['src_1.3', 'src_1.2', 'tok_2.1', 'src_1.1']);
    expect(await found({ kind: 'token' })).toEqual(['tok_2.1']);
    expect(await found({ since: START + 2, until: START + 3 })).toEqual(['src_1.2']);
    expect(await found({ entry: 'src_1', by: 'tok_1' })).toEqual(['src_1.3', 'src_1.2', 'src_1.1']);
    const after = { at: START + 2, id: auditId(rows[1]!) };
    expect((await listAudit(database, {}, { limit: 2, after })).rows.map(auditId)).toEqual([
      'tok_2.1',
      'src_1.1',
    ]);
    // Neither database stores NUL.
    expect((await listAudit(database, { by: 'admin' }, { limit: 1 })).rows[0]).toEqual({
      ...rows[2],
      changes: [{ field: 'name', from: 'a', to: 'b\ufffd' }],
    });
  });

  const scope = {
    destination: 'dst_1',
    origin: 'messages',
    from: null,
    to: 1,
    status: null,
    type: null,
  } as const;
  const job = (id: string, over: Partial<Job> = {}): Job => ({
    ...newJob(
      {
        scope: { ...scope, reason: null, includeDelivered: false, onlyFailedUrls: false },
        preview: false,
        maxPerSecond: 1,
      },
      { id, now: new Date(START), places: [{ partition: 0, low: 1, next: 2, end: 3 }] },
    ),
    ...over,
  });
  const [mine, theirs] = ['mine', 'theirs'].map((owner) => ({ owner, forMs: 60_000 })) as [
    Lease,
    Lease,
  ];
  const expire = () => database.query('update waypost.replays set lease_until = 1');
  const claimed = async (lease: Lease, limit = 5) =>
    (await claimJobs(database, limit, lease)).map(({ id }) => id);

  test('lets only the owner of a replay write it, or another process after the lease', async () => {
    await addJob(database, job('rpl_1'), mine);
    expect(await saveJob(database, job('rpl_1', { status: 'running', sent: 5 }), mine)).toBe(
      'saved',
    );
    expect(await saveJob(database, job('rpl_1', { sent: 9 }), theirs)).toBe('lost');
    expect([
      await renewJob(database, 'rpl_1', mine),
      await renewJob(database, 'rpl_1', theirs),
    ]).toEqual(['running', undefined]);
    expect(await getJob(database, 'rpl_1')).toEqual(job('rpl_1', { status: 'running', sent: 5 }));
    expect(await isFree(database, 'rpl_1')).toBe(false);
    expect(await claimed(mine)).toEqual([]);
    await expire();
    expect(await claimed(theirs)).toEqual(['rpl_1']);
    expect(await saveJob(database, job('rpl_1', { sent: 9 }), mine)).toBe('lost');
    expect(await saveJob(database, job('rpl_1', { status: 'done' }), theirs)).toBe('saved');
    await expire();
    expect(await claimed(mine)).toEqual([]);
  });

  test('gives replays without a live owner to one process each, the oldest first', async () => {
    for (const id of ['rpl_1', 'rpl_2', 'rpl_3']) {
      await addJob(database, job(id, { createdAt: START }), mine);
    }
    expect(name === 'PGlite' ? [] : await claimed(theirs)).toEqual([]);
    await releaseJob(database, 'rpl_2', 'theirs');
    await releaseJob(database, 'rpl_1', 'mine');
    await releaseJob(database, 'rpl_3', 'mine');
    expect(await claimed(theirs, 1)).toEqual(['rpl_1']);
    expect([await claimed(theirs), await claimed(theirs)]).toEqual([
      expect.arrayContaining(['rpl_3']),
      [],
    ]);
  });

  test('keeps a replay of another process cancelled, and stores its progress', async () => {
    await addJob(database, job('rpl_1', { status: 'running' }), mine);
    expect([await cancelJob(database, 'rpl_1'), await cancelJob(database, 'rpl_1')]).toEqual([
      true,
      false,
    ]);
    expect(await renewJob(database, 'rpl_1', mine)).toBe('cancelled');
    expect(await isFree(database, 'rpl_1')).toBe(false);
    expect(await resumeJob(database, job('rpl_1'), theirs)).toBe(false);
    expect(await saveJob(database, job('rpl_1', { status: 'running', sent: 7 }), mine)).toBe(
      'cancelled',
    );
    expect(await getJob(database, 'rpl_1')).toMatchObject({ status: 'cancelled', sent: 7 });
    expect(await isFree(database, 'rpl_1')).toBe(true);
    const again = job('rpl_1', { status: 'running', sent: 7 });
    expect(await resumeJob(database, again, theirs)).toBe(true);
    expect(await resumeJob(database, again, mine)).toBe(false);
    await cancelJob(database, 'rpl_1');
    await expire();
    expect(await resumeJob(database, again, mine)).toBe(true);
  });

  test('stores the results of a replay that has ended, and none of one that runs', async () => {
    await addJob(database, job('rpl_1', { status: 'running' }), mine);
    const results = { attempted: 3, delivered: 2, failedAgain: 1, held: 0 };
    await saveResults(database, 'rpl_1', results);
    expect(await getJob(database, 'rpl_1')).not.toHaveProperty('results');
    await saveJob(database, job('rpl_1', { status: 'done', sent: 3 }), mine);
    await saveResults(database, 'rpl_1', results);
    expect(await getJob(database, 'rpl_1')).toMatchObject({ status: 'done', sent: 3, results });
  });

  test('counts the deliveries of a job by result, and leaves those of a later job', async () => {
    const sent = (delivery: string, job: string, replay = 1) =>
      aWait({ delivery, replay, reason: REPLAYED, job, at: at(60 + replay) });
    const dead = (delivery: string) => aDeath({ delivery });
    const tried = { replay: 1, at: at(70) };
    await record(
      ...['untried', 'again', 'failed'].map((delivery) => anEvent({ delivery })),
      ...['waiting', 'delivered', 'dead', 'cancelled', 'later'].map(dead),
      ...['untried', 'again', 'failed', 'waiting', 'delivered', 'dead', 'cancelled', 'later'].map(
        (delivery) => sent(delivery, 'rpl_1'),
      ),
      ...['again', 'delivered'].map((delivery) => anEvent({ delivery, ...tried })),
      aFailure({ delivery: 'failed', ...tried }),
      aDeath({ delivery: 'dead', ...tried }),
      aCancellation({ delivery: 'cancelled', ...tried }),
      sent('later', 'rpl_2', 2),
    );
    const none = { attempted: 0, delivered: 0, failedAgain: 0, held: 0, cancelled: 0, settled: 0 };
    expect(Object.fromEntries(await resultsOf(database, ['rpl_1', 'rpl_2', 'rpl_3']))).toEqual({
      rpl_1: {
        named: 7,
        attempted: 3,
        delivered: 2,
        failedAgain: 2,
        held: 0,
        cancelled: 1,
        settled: 4,
      },
      rpl_2: { ...none, named: 1 },
    });
  });

  test('leaves a job that only one process may do to its owner, until the lease ends', async () => {
    expect(await takeLease(database, 'alerts', mine)).toBe(true);
    // An embedded database has one process: any other owner is gone.
    expect(await takeLease(database, 'alerts', theirs)).toBe(name === 'PGlite');
    await dropLease(database, 'alerts', 'theirs');
    await dropLease(database, 'alerts', 'mine');
    expect(await takeLease(database, 'alerts', { ...theirs, forMs: -1 })).toBe(true);
    expect(await takeLease(database, 'alerts', mine)).toBe(true);
  });

  test('lists replays and the known deliveries', async () => {
    await addJob(database, job('rpl_1'), mine);
    await addJob(database, job('rpl_2', { status: 'done' }), mine);
    expect(
      (await listJobs(database, { limit: 1, after: { at: START, id: 'rpl_2' } })).rows,
    ).toMatchObject([{ id: 'rpl_1' }]);
    await record(anEvent(), aFailure({ delivery: 'dlv_2', replay: 1 }));
    expect([...(await knownOf(database, ['dlv_1', 'dlv_2', 'dlv_3']))]).toEqual([
      ['dlv_1', { status: 'delivered', reason: null, replay: 0 }],
      ['dlv_2', { status: 'retrying', reason: 'backoff', replay: 1 }],
    ]);
  });

  test("deletes a user's rows, of all or the given sources, and lists deleted users", async () => {
    const about = [
      { delivery: 'd1', userId: 'kim' },
      { delivery: 'd2', userId: 'kim', source: 'src_2' },
      { delivery: 'd3', userId: 'lee' },
      { delivery: 'd4', userId: 'kim', acceptedAt: at(100) },
    ];
    await record(...about.map((each) => anEvent(each)));
    const deletion = {
      id: 'del_1',
      at: Date.parse(at(50)),
      users: ['kim', 'x\0'],
      anonymous: [],
      affected: [],
      messages: 0,
    };
    expect(await recordDeletion(database, { ...deletion, sources: ['src_2'] })).toBe(1);
    expect(await list()).toEqual(['d4', 'd3', 'd1']);
    expect(await recordDeletion(database, { ...deletion, id: 'del_2', sources: null })).toBe(1);
    expect(await list()).toEqual(['d4', 'd3']);
    const { userId: _, ...anonymous } = anEvent();
    await record(
      { ...anonymous, delivery: 'd5', anonymousId: 'kim' },
      { ...anonymous, delivery: 'd6', anonymousId: 'x' },
    );
    const visitor = {
      ...deletion,
      id: 'del_3',
      at: deletion.at - 1,
      users: [],
      anonymous: ['kim'],
      sources: null,
    };
    expect(await recordDeletion(database, visitor)).toBe(1);
    expect(await list()).toEqual(['d4', 'd6', 'd3']);
    await database.query(`delete from waypost.deletions where id = 'del_3'`);
    expect(await getDeletion(database, 'del_1')).toMatchObject({
      users: ['kim', 'x\ufffd'],
      anonymous: [],
      sources: ['src_2'],
    });
    const page = { limit: 5, after: { at: deletion.at, id: 'del_2' } };
    expect((await listDeletions(database, page)).rows).toMatchObject([{ id: 'del_1' }]);
  });

  /** An entry of a list, all of one moment, and the ids of a page. */
  interface Listed {
    add: (id: string) => Promise<unknown>;
    idsOf: (page: { limit: number; after: Cursor | undefined }) => Promise<string[]>;
  }
  const listed: Record<string, Listed> = {
    notices: {
      add: (id) => {
        const about = { destination: 'dst_1', name: 'Hooks', at: START, since: START, error: null };
        return addNotices(database, [{ ...newNotice({ kind: 'failing', ...about }, id), id }]);
      },
      idsOf: async (page) => (await listNotices(database, {}, page)).rows.map(({ id }) => id),
    },
    deletions: {
      add: (id) =>
        recordDeletion(database, {
          id,
          at: START,
          users: ['kim'],
          anonymous: [],
          sources: null,
          affected: [],
          messages: 0,
        }),
      idsOf: async (page) => (await listDeletions(database, page)).rows.map(({ id }) => id),
    },
    replays: {
      add: (id) => addJob(database, job(id), mine),
      idsOf: async (page) => (await listJobs(database, page)).rows.map(({ id }) => id),
    },
    changes: {
      add: (id) => {
        const change: AuditRow = {
          kind: 'source',
          entry: id,
          version: 1,
          at: START,
          action: 'created',
          name: 'Site',
          by: { id: 'tok_1', name: 'Kim', role: 'admin' },
          changes: [],
        };
        return recordAudit(database, [change]);
      },
      idsOf: async (page) => (await listAudit(database, {}, page)).rows.map(auditId),
    },
  };

  test.each(Object.keys(listed))(
    'lists %s of one moment page by page, each once, whatever its collation is',
    async (of) => {
      const { add, idsOf } = listed[of]!;
      const ids = ['aQ', 'Bq', 'bQ', 'Aq'];
      for (const id of ids) await add(id);
      const paged: string[] = [];
      let after: Cursor | undefined;
      while (paged.length <= ids.length) {
        const [id] = await idsOf({ limit: 1, after });
        if (id === undefined) break;
        paged.push(id);
        after = { at: START, id };
      }
      expect(paged.map((id) => id.slice(0, 2))).toEqual(['bQ', 'aQ', 'Bq', 'Aq']);
    },
  );

  describe('stores responses beside the rows', () => {
    const answer = (body: string) => ({ headers: { server: 'x' }, body, truncated: false });
    const failure = (n: number, body: string, delivery = 'dlv_1') => {
      const urls = [aUrl({ outcome: 'retry', status: 425, response: answer(body) })];
      return aFailure({ delivery, n, hop: n, at: at(n), urls });
    };
    const stored = () =>
      database.query<{ delivery: string; seq: number; response: string }>(
        'select delivery, seq, response from waypost.responses order by delivery, seq',
      );
    const shown = async (id: string) => {
      const row = await getDelivery(database, id);
      return [...(await readResponses(database, row!)).values()].reverse();
    };

    test('in the transaction of the row, each once, even if its event comes again', async () => {
      const odd = 'a\tb\\\n"\0\ud800';
      await record(failure(1, 'one'), failure(2, odd), failure(1, 'other', 'dlv_2'));
      await record(failure(3, 'three'));
      await record(failure(2, odd), failure(3, 'three'), failure(4, 'four'));
      expect((await stored()).map(({ delivery, seq }) => [delivery, seq])).toEqual([
        ['dlv_1', 0],
        ['dlv_1', 1],
        ['dlv_1', 2],
        ['dlv_1', 3],
        ['dlv_2', 0],
      ]);
      expect(await shown('dlv_1')).toEqual(['one', odd, 'three', 'four'].map(answer));
      expect(await shown('dlv_2')).toEqual([answer('other')]);
    });

    test('of a first attempt that succeeded, as rows of attempts bring it', async () => {
      const success = aSuccess({ id: 'dlv_1', messageId: 'm', hop: 0, replay: 0, attempt: 0 });
      const { batch: _, ...url } = success.url;
      const value = rowsOf([{ ...success, url: { ...url, response: answer('a\tb\\\0') } }]);
      const events = parseEvents({ value, timestampMs: START }).flatMap((event) => event ?? []);
      expect(events).toMatchObject([{ kind: 'attempt' }]);
      await storeEvents(database, events, parts);
      await storeEvents(database, events, parts);
      expect(await shown('dlv_1')).toEqual([answer('a\tb\\\0')]);
    });

    test('at most 256 KiB of a delivery, the newest, whatever its endpoint answers', async () => {
      const hostile = '\u0001'.repeat(16 * 1024);
      for (let n = 1; n <= 10; n++) await record(failure(n, hostile));
      const kept = await stored();
      expect(kept.map(({ seq }) => seq)).toEqual([8, 9]);
      expect(kept.reduce((sum, { response }) => sum + response.length, 0)).toBeLessThan(256 * 1024);
      const row = (await getDelivery(database, 'dlv_1'))!;
      expect(row.tries).toHaveLength(10);
      expect(JSON.stringify(row).length).toBeLessThan(10_000);
    });

    test('until rows are deleted with their user, or dropped with their partition', async () => {
      await record(failure(1, 'one'), { ...failure(1, 'two', 'dlv_2'), userId: 'lee' });
      const deletion = { id: 'del_1', at: START + 50_000, users: ['user-1'], anonymous: [] };
      const done = { sources: null, affected: [], messages: 0 };
      expect(await recordDeletion(database, { ...deletion, ...done })).toBe(1);
      expect((await stored()).map(({ delivery }) => delivery)).toEqual(['dlv_2']);
      parts = await keepWithin(database, { forMs: 1, maxBytes: 1e12 }, START + 3 * 86_400_000);
      expect([parts, await stored()]).toEqual([[], []]);
    });

    test('and a database that refuses a row stores none of them', async () => {
      const admit = async ({ query }: Transaction) => {
        await query('alter table waypost.counts add constraint nothing check (attempts < 0)');
        return () => true;
      };
      const refused = storeEvents(database, [failure(1, 'one')], parts, admit);
      await expect(refused).rejects.toMatchObject({ code: '23514' });
      expect([await stored(), await list()]).toEqual([[], []]);
    });
  });

  describe('keeps no row of a user whom another process deletes', () => {
    const kim = anEvent({ delivery: 'd1', userId: 'kim' });
    const lee = anEvent({ delivery: 'd2', userId: 'lee' });
    const deletion = {
      id: 'del_1',
      at: START + 50_000,
      users: ['kim'],
      anonymous: [],
      sources: null,
      affected: [],
      messages: 0,
    };
    /** Writes rows as a process does. */
    const admitter =
      (forgotten: Forgotten, then: () => Promise<void> = () => Promise.resolve()) =>
      async (queries: Transaction): Promise<Admit> => {
        await forgotten.learn(queries, database.kind, START);
        await then();
        return (event) => !forgotten.has(event, Date.parse(event.acceptedAt));
      };
    const write = (admit: (transaction: Transaction) => Promise<Admit>) =>
      storeEvents(database, [kim, lee], parts, admit);

    test('when events are written after the deletion', async () => {
      const forgotten = new Forgotten();
      await forgotten.refresh(database, START);
      await recordDeletion(database, deletion);
      await write(admitter(forgotten));
      expect(await list()).toEqual(['d2']);
    });

    test('when events are being written during the deletion', async () => {
      let deleting: Promise<number> | undefined;
      const waits = async () => {
        deleting = recordDeletion(database, deletion);
        // The embedded database has one connection: its deletion follows the transaction.
        if (name === 'PGlite') return;
        await eventually(async () => {
          const waiting = await database.query(
            "select 1 from pg_locks where not granted and relation = 'waypost.deletions'::regclass",
          );
          expect(waiting).toHaveLength(1);
        });
      };
      await write(admitter(new Forgotten(), waits));
      expect(await deleting).toBe(1);
      expect(await list()).toEqual(['d2']);
    });

    test('when the deletion is too old for any further event', async () => {
      const nowMs = START + 39 * 86_400_000;
      await recordDeletion(database, deletion);
      await recordDeletion(database, { ...deletion, id: 'del_2', at: nowMs, users: ['lee'] });
      const forgotten = new Forgotten();
      await forgotten.refresh(database, nowMs);
      expect(forgotten.has(kim, Date.parse(kim.acceptedAt))).toBe(false);
      expect(forgotten.latestSeq).toBeGreaterThan(0);
    });
  });

  describe('drops', () => {
    const big = { headers: {}, body: '', truncated: false };
    const fill = async (day: number, count: number, from = 0) => {
      const acceptedAt = (i: number) => at(day * 86_400 + i);
      const events = Array.from({ length: count }, (_, i) => {
        // Random, because the database compresses.
        const body = Array.from({ length: 200 }, () => Math.random().toString(36)).join('');
        const attempt = anEvent({
          delivery: `d${day}-${from + i}`,
          acceptedAt: acceptedAt(from + i),
        });
        return {
          ...attempt,
          urls: attempt.urls.map((url) => ({ ...url, response: { ...big, body } })),
        };
      });
      await record(...events);
    };

    test('partitions that are too old, and keeps accepting events', async () => {
      for (const day of [0, 1, 2]) {
        await record(anEvent({ delivery: `d${day}`, acceptedAt: at(day * 86_400) }));
      }
      const day = 86_400_000;
      const midnight = Math.floor(START / day) * day;
      parts = await keepWithin(database, { forMs: day, maxBytes: 1e12 }, midnight + 2 * day);
      expect(await list()).toEqual(['d2', 'd1']);
      await record(anEvent({ delivery: 'd0', acceptedAt: at(0) }));
      expect(await list()).toEqual(['d2', 'd1', 'd0']);
    });

    test('the oldest partitions when space runs out, and keeps accepting events', async () => {
      const keep = { forMs: 1e12, maxBytes: 2_000_000 };
      for (let i = 0; i < 12; i++) {
        await fill(0, 150, i * 150);
        parts = await keepWithin(database, keep, START);
      }
      const left = await list({}, 10_000);
      expect(left[0]).toBe('d0-1799');
      expect(left.length).toBeGreaterThan(149);
      expect(left.length).toBeLessThan(1_500);
      const [size] = await database.query<{ bytes: number }>(
        `select sum(pg_total_relation_size(relid))::bigint as bytes from pg_stat_user_tables
         where schemaname = 'waypost' and relname ~ '^(deliveries|responses)_'`,
      );
      // Within the limit, plus rows written between two retention runs.
      expect(size!.bytes).toBeLessThan(keep.maxBytes * 2);
      await cleanUp(database, parts, new Map(parts.map((part) => [part.name, 1e6])));
    });

    /** Notes the partitions that a transaction reads whole while it keeps others out. */
    const watched = (reads: string[]): Database => ({
      ...database,
      transaction: (work) =>
        database.transaction(async (transaction) => {
          // Of all transactions since these figures were collected.
          const countReads = async () => {
            const rows = await transaction.query<{ name: string; count: number }>(
              `select relname as name, seq_scan::int as count from pg_stat_xact_user_tables
               where schemaname = 'waypost' and relname ~ '^(deliveries|responses)_'`,
            );
            return new Map(rows.map((row) => [row.name, row.count]));
          };
          const before = await countReads();
          const result = await work(transaction);
          const locks = await transaction.query(
            `select 1 from pg_locks join pg_class on pg_class.oid = pg_locks.relation
             where pid = pg_backend_pid() and mode = 'AccessExclusiveLock'
               and relname ~ '^(deliveries|responses)'`,
          );
          if (locks.length === 0) return result;
          for (const [part, count] of await countReads()) {
            if (count > (before.get(part) ?? count)) reads.push(part);
          }
          return result;
        }),
    });

    test('no partition that ends early is read whole while others are kept out of it', async () => {
      await fill(0, 150);
      const first = parts[0]!;
      const reads: string[] = [];
      const keep = { forMs: 1e12, maxBytes: 1_000_000 };
      parts = await keepWithin(watched(reads), keep, START);
      // Nothing has come yet that is later.
      expect(await keepWithin(watched(reads), keep, START)).toEqual(parts);
      const [ended] = parts;
      expect(ended!.to).toBeLessThan(first.to);
      const later = anEvent({ delivery: 'later', acceptedAt: new Date(ended!.to).toISOString() });
      await storeEvents(watched(reads), [later], parts);
      expect(parts.map(({ from, to }) => [from, to])).toEqual([
        [first.from, ended!.to],
        [ended!.to, first.to],
      ]);
      expect(reads).toEqual([]);
      expect(await list({}, 200)).toHaveLength(151);
      const [rows] = await database.query(`select count(*)::int from waypost.${first.name}`);
      expect(rows).toEqual({ count: 150 });
    });
  });

  test('returns the health of each destination', async () => {
    const learn = (...events: DeliveryEvent[]) => {
      const evidence = events.flatMap((event) => evidenceOf(Buffer.from(JSON.stringify(event))));
      return database.transaction((queries) => storeEvidence(queries, evidence));
    };
    await learn(aFailure(), anEvent({ delivery: 'd2', destination: 'dst_2' }));
    await learn(aDeath({ at: at(5) }));
    const known = await troubled(database);
    expect([...known.keys()]).toEqual(['dst_1']);
    expect(known.get('dst_1')).toMatchObject({ failures: [{ count: 1 }], dead: { count: 1 } });
    const locked = await database.transaction((queries) =>
      lockHealth(queries, ['dst_2', 'dst_1', 'dst_none']),
    );
    expect([...locked.keys()].sort()).toEqual(['dst_1', 'dst_2']);
  });

  test('updates stored positions only from their current values, all of them or none', async () => {
    const since = { sinceMs: 1, readMs: 1 };
    const unnamed = { last: null, ...since };
    await beginPositions(database, 'one', [{ partition: 0, next: 5, ...unnamed }]);
    await beginPositions(database, 'one', [
      { partition: 0, next: 9, ...unnamed },
      { partition: 1, next: 2, ...unnamed },
    ]);
    await beginPositions(database, 'two', [{ partition: 0, next: 3, ...unnamed }]);
    /** The place behind a record that a leader of this epoch appended. */
    const place = (next: number, epoch?: number): Move['from'] => ({
      next,
      last: epoch === undefined ? null : [next - 1, epoch, 7],
    });
    const move = (...moves: Omit<Move, 'readMs'>[]) =>
      database.transaction((queries) =>
        movePositions(
          queries,
          'one',
          moves.map((each) => ({ ...each, readMs: 7 })),
        ),
      );
    const both = { partition: 0, from: place(5), to: place(8, 0) };
    expect(await move(both, { partition: 1, from: place(2), to: place(0, 0) })).toBe(true);
    const onlyOne = { partition: 0, from: place(8, 0), to: place(9, 0) };
    expect(await move(onlyOne, { partition: 1, from: place(2), to: place(3, 0) })).toBe(false);
    expect(await move({ partition: 2, from: place(0), to: place(1, 0) })).toBe(false);
    // Another log, in which other records have the same offsets.
    expect(await move({ partition: 0, from: place(8, 1), to: place(9, 1) })).toBe(false);
    const next = async (reader: string) =>
      [...(await readPositions(database, reader)).values()].map((each) => each.next);
    expect([await next('one'), await next('two')]).toEqual([[8, 0], [3]]);
  });

  test('keeps the newest of each fact, whatever the order, and few certificates', async () => {
    const seen = (days: number, seconds: number) => ({
      kind: 'certificate' as const,
      origin: 'https://a.example',
      notAfter: at(days * 86_400),
      at: at(seconds),
    });
    const costs = (units: number, seconds: number) => ({
      kind: 'filter' as const,
      destination: 'dst_1',
      filter: 'digest',
      units,
      limit: 9,
      at: at(seconds),
    });
    const learn = (...events: NoticeEvent[]) => {
      const evidence = events.flatMap((event) => evidenceOf(Buffer.from(JSON.stringify(event))));
      return database.transaction((queries) => storeEvidence(queries, evidence));
    };
    // Nothing is known about its server, and it is far from its end.
    await learn({ ...seen(90, 1), origin: 'https://b.example' });
    await learn(seen(90, 2), seen(20, 1), costs(5, 3), costs(7, 4));
    await learn(costs(6, 2), seen(20, 5));
    const all = ['certificate', 'filter'] as const;
    const facts = (await readFacts(database, all)).map(({ about, firstAt, at: last, event }) => {
      const said = event.kind === 'filter' ? event.units : event.kind;
      return [about, said, (firstAt - START) / 1_000, (last - START) / 1_000];
    });
    expect(facts.toSorted()).toEqual([
      ['dst_1', 7, 2, 4],
      ['https://a.example', 'certificate', 1, 5],
      ['https://a.example', 'certificate', 2, 2],
    ]);
    const endsBefore = (days: number) =>
      readFacts(database, ['certificate'], new Date(at(days * 86_400)));
    expect(await endsBefore(20)).toEqual([]);
    expect(await endsBefore(21)).toHaveLength(2);
    await dropFacts(database, await readFacts(database, ['certificate']));
    expect(await readFacts(database, all)).toMatchObject([{ about: 'dst_1', mark: '' }]);
  });

  test('knows a destination as failing while its notice is open', async () => {
    await database.transaction((queries) =>
      storeEvidence(queries, [{ kind: 'ok', destination: 'dst_1', at: START }]),
    );
    const known = async () => ({
      troubled: [...(await troubled(database)).keys()],
      since: (await healthOfSome(database, ['dst_1'])).get('dst_1')!.failingSince,
    });
    expect(await known()).toEqual({ troubled: [], since: undefined });
    const failing = newNotice(
      {
        kind: 'failing',
        destination: 'dst_1',
        name: '',
        at: START + 9,
        since: START + 5,
        error: null,
      },
      1,
    );
    await addNotices(database, [failing]);
    expect(await known()).toEqual({ troubled: ['dst_1'], since: START + 5 });
    await endNotices(database, [
      { id: failing.id, endedAt: START + 10, alert: 'sent', followedBy: null },
    ]);
    expect(await known()).toEqual({ troubled: [], since: undefined });
  });

  test('stores and finds notices, and lists alerts still to be sent', async () => {
    const notice = (over: Partial<Notice>): Notice => ({
      id: 'ntc_1',
      at: START,
      destination: 'dst_1',
      name: 'Höoks',
      kind: 'failing',
      since: START,
      endedAt: null,
      failures: 3,
      deadLetters: 0,
      partlyDelivered: 0,
      fullProfiles: 0,
      expiresAt: null,
      webhook: null,
      origin: 'https://a.example',
      followedBy: null,
      error: 'status 503',
      alert: 'due',
      acknowledged: null,
      ...over,
    });
    const [first, second] = [
      notice({}),
      notice({ id: 'ntc_2', at: START + 1, kind: 'recovered', endedAt: START, error: null }),
    ];
    await addNotices(database, [first, second]);
    await addNotices(database, [notice({ failures: 99 })]);
    const found = async (filter: NoticeFilter) =>
      (await listNotices(database, filter, { limit: 9 })).rows.map(({ id }) => id);
    expect((await listNotices(database, {}, { limit: 9 })).rows).toEqual([second, first]);
    expect(await found({ open: true })).toEqual(['ntc_1']);
    expect(
      await found({ open: false, kind: 'recovered', destination: 'dst_1', acknowledged: false }),
    ).toEqual(['ntc_2']);
    const after = { at: START + 1, id: 'ntc_2' };
    expect((await listNotices(database, {}, { limit: 1, after })).rows).toEqual([first]);
    expect((await dueNotices(database, 9)).map(({ id }) => id)).toEqual(['ntc_1', 'ntc_2']);
    await settleAlerts(database, [first], 'sent');
    expect((await dueNotices(database, 9)).map(({ id }) => id)).toEqual(['ntc_2']);
    await endNotices(database, [
      { id: 'ntc_1', endedAt: START + 5, alert: 'sent', followedBy: null },
    ]);
    const seen = { at: START + 6, by: { id: 'tok_1', name: 'Kim' } };
    expect(await acknowledge(database, 'ntc_1', seen)).toEqual({
      ...first,
      alert: 'sent',
      endedAt: START + 5,
      acknowledged: seen,
    });
    expect(await acknowledge(database, 'ntc_1', { ...seen, at: 0 })).toMatchObject({
      acknowledged: seen,
    });
    expect(await found({ acknowledged: true })).toEqual(['ntc_1']);
    expect(await getNotice(database, 'ntc_none')).toBeUndefined();
  });

  test('keeps every sync for a day, then one an hour, also after repeated writes', async () => {
    const HOUR = 3_600_000;
    const now = 1_000 * 24 * HOUR;
    const row = (bucket: number, members: number, over: Partial<SyncRow> = {}): SyncRow => ({
      definition: 'aud_1',
      bucket,
      at: bucket + 5,
      said: bucket + 6,
      members,
      looked: 10,
      changed: 1,
      sent: members,
      waiting: 0,
      ...over,
    });
    const all = [
      row(now - 26 * HOUR, 1),
      row(now - 26 * HOUR + 60_000, 2),
      row(now - 60_000, 3),
      row(now, 4),
    ];
    const found = async () =>
      (await listSyncs(database, 'aud_1', { limit: 9 })).rows.map(({ bucket, members, looked }) => [
        bucket - now,
        members,
        looked,
      ]);
    await saveSyncs(database, [...all, row(now, 9, { definition: 'aud_2' })]);
    // A partial second read does not reduce counts, and older figures do not replace later ones.
    await saveSyncs(database, [row(now, 1, { looked: 4, said: now })]);
    const each = [
      [0, 4, 10],
      [-60_000, 3, 10],
      [-26 * HOUR + 60_000, 2, 10],
      [-26 * HOUR, 1, 10],
    ];
    expect(await found()).toEqual(each);
    await saveSyncs(database, [row(now, 5, { looked: 12, said: now + 9 })]);
    for (let time = 0; time < 2; time++) {
      await thinSyncs(database, now, 0);
      expect(await found()).toEqual([
        [0, 5, 12],
        [-60_000, 3, 10],
        [-26 * HOUR, 2, 20],
      ]);
    }
    const page = await listSyncs(database, 'aud_1', { limit: 1, after: { at: now, id: '' } });
    expect(page.rows).toEqual([
      {
        bucket: now - 60_000,
        at: now - 59_995,
        members: 3,
        looked: 10,
        changed: 1,
        sent: 3,
        waiting: 0,
      },
    ]);
    const sizes = (fromMs: number) => sizesOf(database, 'aud_1', { fromMs, toMs: now + HOUR });
    expect((await sizes(now - 30 * HOUR)).map(({ members }) => members)).toEqual([2, 5]);
    expect((await sizes(now - HOUR)).map(({ members }) => members)).toEqual([3, 5]);
    await thinSyncs(database, now + 91 * 24 * HOUR, now + 1);
    expect(await found()).toEqual([]);
  });

  test.each<[string, string, (ids: string[]) => Promise<void>]>([
    [
      'syncs',
      "select from waypost.syncs where definition = 'c' for update",
      (ids) => {
        const sync = { bucket: 0, at: 0, said: 0, members: 1, looked: 1, changed: 1 };
        return saveSyncs(
          database,
          ids.map((definition) => ({ definition, ...sync, sent: 1, waiting: 0 })),
        );
      },
    ],
    [
      'uses of tokens',
      "select from waypost.token_uses where token = 'c' for update",
      (ids) => recordTokenUses(database, new Map(ids.map((id) => [id, 1]))),
    ],
  ])('lets two processes write the same %s in any order', async (_, lockOne, write) => {
    await write(['a', 'b', 'c']);
    let both: Promise<unknown> = Promise.resolve();
    await database.transaction(async ({ query }) => {
      await query(lockOne);
      // In the order given, each would get one row, and then wait for that of the other.
      both = Promise.all([write(['a', 'c', 'b']), write(['b', 'c', 'a'])]);
      // The embedded database runs one transaction at a time.
      if (name === 'PGlite') return;
      await eventually(async () => {
        const waiting = await query('select distinct pid from pg_locks where not granted');
        expect(waiting).toHaveLength(2);
      });
    });
    await expect(both).resolves.toHaveLength(2);
  });

  test('gives all control processes the same session keys until the sessions end', async () => {
    const key = (period: number, by: string) => ({ period, madeAt: period * 1_000, key: by });
    const both = await Promise.all([
      sessionKeys(database, key(1, 'mine'), 0),
      sessionKeys(database, key(1, 'theirs'), 0),
    ]);
    expect(both[0]).toHaveLength(1);
    expect(both[1]).toEqual(both[0]);
    expect(await sessionKeys(database, key(1, 'late'), 0)).toEqual(both[0]);
    const two = await sessionKeys(database, key(2, 'second'), 0);
    expect(two).toEqual([key(2, 'second'), ...both[0]]);
    expect(await sessionKeys(database, key(3, 'third'), 2_500)).toEqual([
      key(3, 'third'),
      key(2, 'second'),
    ]);
  });

  test('lists ended sessions to every control process until they would have expired', async () => {
    const [one, two] = [
      { id: 'one', until: 1_000 },
      { id: 'two', until: 2_000 },
    ];
    expect(await endedSessions(database, [one], 500)).toEqual([one]);
    expect(await endedSessions(database, [one, two], 600)).toEqual(
      expect.arrayContaining([one, two]),
    );
    expect(await endedSessions(database, [], 1_000)).toEqual([two]);
    await endedSessions(database, [{ id: 'three', until: 9_000 }], 5_000);
    expect(await endedSessions(database, [], 0)).toEqual([{ id: 'three', until: 9_000 }]);
  });

  test('keeps the latest use of each token, whichever process writes it', async () => {
    await recordTokenUses(
      database,
      new Map([
        ['tok_1', 120_000],
        ['tok_2', 60_000],
      ]),
    );
    await recordTokenUses(database, new Map([['tok_1', 60_000]]));
    expect(await tokenUses(database)).toEqual(
      new Map([
        ['tok_1', 120_000],
        ['tok_2', 60_000],
      ]),
    );
  });
});
