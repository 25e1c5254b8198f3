import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listNotices, type NoticeFilter } from '../../services/control/alerts/store';
import { type AuditFilter, listAudit } from '../../services/control/history/audit';
import { type Database, UNHURRIED } from '../../services/control/history/database';
import { type Filter } from '../../services/control/history/filter';
import { MOST_LOOKED } from '../../services/control/history/newest';
import { openPglite } from '../../services/control/history/pglite';
import { openPostgres } from '../../services/control/history/postgres';
import {
  countDeliveries,
  fillDeliveryPage,
  listDeliveries,
} from '../../services/control/history/queries';
import { keepWithin } from '../../services/control/history/retention';
import { migrate } from '../../services/control/history/schema';
import { type TablePartition } from '../../services/control/history/table-partitions';
import { fewerCases, seedOf } from '../support/cases';
import { postgresServer } from '../support/database';
import { aDeath, START } from '../support/events';
import { copyHistoryFiles } from '../support/history-files';
import { storeEvents } from '../support/store-events';

/**
 * What a page of a list costs in the database: the rows that it visits, as `explain` counts them.
 * In this history nearly all rows are alike, so a filter finds either all of them or none.
 */

const ROWS = 150_000;
const LATER = START + 2 * 86_400_000;
const EVER = { forMs: 1e12, maxBytes: 1e12 };

/**
 * A query for three statuses finds the newest of each apart, a filter by the time of the end counts
 * first, and a server uses several processes. The three statuses have 90,000 rows: more than this.
 */
const MOST_VISITED = 8 * (MOST_LOOKED + 1);

const openings: Record<string, () => Promise<{ database: Database; end: () => Promise<void> }>> = {
  PGlite: async () => {
    const dir = mkdtempSync(join(tmpdir(), 'waypost-bounded-'));
    copyHistoryFiles(dir);
    const database = await openPglite(join(dir, 'history'));
    return {
      database,
      end: () => {
        rmSync(dir, { recursive: true, force: true });
        return Promise.resolve();
      },
    };
  },
  PostgreSQL: async () => {
    const server = await postgresServer();
    return { database: await openPostgres(server.url), end: () => server.stop() };
  },
};

/** Filters that find all deliveries, and filters that find none. */
const ALL: Filter[] = [
  { destination: 'dst_1' },
  { source: 'src_1' },
  { type: 'track' },
  { event: 'Paid' },
  { user: 'user-1' },
  { error: 'status' },
  { code: { from: 500, to: 599 } },
  { code: { from: 503, to: 503 } },
  { replay: 'rpl_1' },
  { attempted: true },
  { counted: true },
  { since: START - 1_000 },
  { until: LATER },
  { endedSince: 0 },
  { endedUntil: LATER * 2 },
];
const NONE: Filter[] = [
  { destination: 'dst_none' },
  { source: 'src_none' },
  { type: 'page' },
  { event: 'Other' },
  { user: 'nobody' },
  { error: 'timeout' },
  { code: { from: 200, to: 299 } },
  { code: { from: 204, to: 204 } },
  { code: { from: 400, to: 499 } },
  { code: { from: 501, to: 501 } },
  { replay: 'rpl_none' },
  { message: 'msg-none' },
  { batch: 'bat_none' },
  { ids: ['dlv_none'] },
  { attempted: false },
  { counted: false },
  { since: LATER },
  { until: START - 1_000 },
  { endedSince: LATER * 2 },
  { endedUntil: 1 },
];
const STATUSES: Filter[] = (
  [
    'waiting',
    'retrying',
    'held',
    'pending',
    'delivered',
    'partly_delivered',
    'dead',
    'cancelled',
  ] as const
).map((status) => ({ status, paused: [] }));

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

/** Returns how many rows of tables a plan visited. */
function visitedBy(plan: Plan): number {
  const rows =
    (plan['Actual Rows'] ?? 0) +
    (plan['Rows Removed by Filter'] ?? 0) +
    (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = plan['Relation Name'] === undefined ? 0 : rows * (plan['Actual Loops'] ?? 1);
  return (plan.Plans ?? []).reduce((sum, each) => sum + visitedBy(each), own);
}

describe.each(Object.keys(openings))('%s', (name) => {
  let database: Database;
  let end: () => Promise<void>;
  let visited = 0;
  /** Adds up what its queries visit. */
  let counting: Database;

  beforeAll(async () => {
    ({ database, end } = await openings[name]!());
    counting = {
      ...database,
      query: async (sql, params) => {
        const [row] = await database.query(`explain (analyze, format json) ${sql}`, params);
        const json = row!['QUERY PLAN'];
        const [{ Plan: plan }] = (typeof json === 'string' ? JSON.parse(json) : json) as [
          { Plan: Plan },
        ];
        visited += visitedBy(plan);
        // Only of this one the answer decides what is asked next.
        return sql.includes('as ended') ? database.query(sql, params) : [];
      },
    };
    await migrate(database);
    const parts: TablePartition[] = [];
    await storeEvents(database, [aDeath({ delivery: 'dlv_0' })], parts);
    // A busy machine takes longer for it than the timeout of queries.
    await database.transaction(async ({ query }) => {
      await query(UNHURRIED);
      await query(
        `insert into waypost.deliveries (accepted_at, id, message, source, destination, type, event,
           user_id, status, reason, settled_at, expires_at, replay, hop, made, test, record, tries,
           last_status, last_error, job)
         select accepted_at + n, 'dlv_' || n, 'msg-' || n, 'src_1', 'dst_1', 'track', 'Paid',
           'user-1', (array['waiting', 'retrying', 'held', 'delivered', 'dead'])[1 + n % 5],
           'circuit_open', settled_at + n, expires_at, replay, hop, 1, false, record, '[]',
           503, 'status', 'rpl_1'
         from waypost.deliveries cross join generate_series(1, ${ROWS}) n where id = 'dlv_0'`,
      );
      await query(`delete from waypost.deliveries where id = 'dlv_0'`);
      await query(
        `insert into waypost.audit (entry, version, kind, at, action, name, by_id, by_name, by_role,
           changes)
         select 'dst_1', n, 'destination', ${START} + n, 'changed', 'Hook', 'tok_1', 'Kim', 'admin',
           '[]'
         from generate_series(1, ${ROWS}) n`,
      );
      await query(
        `insert into waypost.notices
           (id, at, destination, kind, since, ended_at, alert, said, acknowledged)
         select 'ntc_' || n, ${START} + n, 'dst_1', 'failing', 0, 1, 'none', '{}', '{}'
         from generate_series(1, ${ROWS}) n`,
      );
    });
    await keepWithin(database, EVER, LATER);
    for (const part of parts) await database.query(`vacuum analyze waypost.${part.name}`);
    for (const table of ['audit', 'notices']) {
      await database.query(`vacuum analyze waypost.${table}`);
    }
  });
  afterAll(async () => {
    await database.close();
    await end();
  });
  beforeEach(() => {
    visited = 0;
  });

  const page = { limit: 51 };
  const costly = async (filter: object, ask: () => Promise<unknown>) => {
    visited = 0;
    await ask();
    return visited > MOST_VISITED ? [{ filter, visited }] : [];
  };

  const filters = [...ALL, ...NONE, ...STATUSES];
  const pairs = filters.flatMap((one, i) =>
    filters.slice(i + 1).map((other) => ({ ...one, ...other })),
  );
  const nth = Math.round(pairs.length / fewerCases(pairs.length));
  const seed = seedOf('BOUNDED_SEED');
  const tried = pairs.filter((_, i) => (i + seed) % nth === 0);

  test('a page of deliveries visits few rows, by each filter and each two', async () => {
    const found: object[] = [];
    for (const filter of [{}, ...filters, ...tried]) {
      found.push(...(await costly(filter, () => listDeliveries(counting, filter, page))));
    }
    expect(found).toEqual([]);
  });

  test('the number of deliveries visits few rows', async () => {
    const found: object[] = [];
    for (const filter of [{}, ...filters]) {
      found.push(...(await costly(filter, () => countDeliveries(counting, filter))));
    }
    expect(found).toEqual([]);
  });

  test('few that fit are found behind many that do not, a page after the other', async () => {
    await database.query(
      `update waypost.deliveries set made = 0
       where id in ('dlv_7', 'dlv_${MOST_LOOKED}', 'dlv_${ROWS - 5}')`,
    );
    const found = (filter: Filter, looks: number) => {
      let left = looks;
      return fillDeliveryPage({ ask: (work) => work(database) }, filter, page, () => --left > 0);
    };
    const one = await found({ attempted: false }, 1);
    expect(one).toMatchObject({
      rows: [{ id: `dlv_${ROWS - 5}` }],
      stoppedAt: { id: `dlv_${ROWS - MOST_LOOKED + 1}` },
    });
    const all = await found({ attempted: false }, Infinity);
    expect(all.rows.map(({ id }) => id)).toEqual([
      `dlv_${ROWS - 5}`,
      `dlv_${MOST_LOOKED}`,
      'dlv_7',
    ]);
    expect(all.stoppedAt).toBeUndefined();
  });

  test('a page of the audit trail and of notices visits few rows', async () => {
    const audit: AuditFilter[] = [
      {},
      { entry: 'dst_1' },
      { entry: 'dst_none' },
      { by: 'tok_1' },
      { by: 'nobody' },
      { kind: 'destination' },
      { kind: 'token' },
      { entry: 'dst_1', by: 'nobody' },
      { entry: 'dst_1', kind: 'token' },
      { by: 'tok_1', kind: 'token' },
      { kind: 'destination', sessions: false, until: START },
    ];
    const notices: NoticeFilter[] = [
      {},
      { open: true },
      { open: false, acknowledged: false },
      { acknowledged: false },
      { kind: 'dead_letters' },
      { destination: 'dst_1', open: true },
      { destination: 'dst_1', kind: 'dead_letters' },
      { destination: 'dst_none' },
    ];
    const found: object[] = [];
    for (const filter of audit) {
      found.push(...(await costly(filter, () => listAudit(counting, filter, page))));
    }
    for (const filter of notices) {
      found.push(...(await costly(filter, () => listNotices(counting, filter, page))));
    }
    expect(found).toEqual([]);
  });
});
