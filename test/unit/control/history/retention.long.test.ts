import { type Database } from '../../../../services/control/history/database';
import {
  Forgotten,
  getDeletion,
  recordDeletion,
} from '../../../../services/control/history/deletions';
import { keepWithin } from '../../../../services/control/history/retention';
import { DELETIONS_KEPT_MS } from '../../../../shared/model/deletion';
import { memoryDatabase } from '../../../support/database';
import { anEvent } from '../../../support/events';
import { storeEvents } from '../../../support/store-events';

const DAY_MS = 86_400_000;
const NOW_MS = 1_000 * DAY_MS;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());

test('jobs that have ended and facts that nobody repeats do not stay for ever', async () => {
  const replay = (id: string, days: number, status: string) =>
    database.query(
      'insert into waypost.replays (id, at, job, lease_until) values ($1, $2, $3, 0)',
      [id, NOW_MS - days * DAY_MS, JSON.stringify({ status })],
    );
  await replay('old', 401, 'done');
  await replay('active', 401, 'running');
  await replay('recent', 399, 'done');
  for (const [about, days] of [
    ['old', 61],
    ['recent', 59],
  ] as const) {
    await database.query(
      `insert into waypost.facts (kind, about, mark, first_at, at, event)
       values ('certificate', $1, '', $2, $2, '{}')`,
      [about, NOW_MS - days * DAY_MS],
    );
  }
  await keepWithin(database, { forMs: 30 * DAY_MS, maxBytes: 1e9 }, NOW_MS);
  const [replays, facts] = [
    await database.query('select id from waypost.replays order by id'),
    await database.query('select about from waypost.facts'),
  ];
  expect([replays, facts]).toEqual([[{ id: 'active' }, { id: 'recent' }], [{ about: 'recent' }]]);
});

test('the health of a destination goes once its deletion is as old as the history', async () => {
  const destination = async (id: string, versions: ['set' | 'deleted', daysAgo: number][]) => {
    await database.query(`insert into waypost.health values ($1, true, '{}')`, [id]);
    for (const [version, [what, ago]] of versions.entries()) {
      await database.query('insert into waypost.destination_versions values ($1, $2, $3, $4)', [
        id,
        version,
        NOW_MS - ago * DAY_MS,
        what === 'set' ? '{}' : null,
      ]);
    }
  };
  await destination('dst_here', [['set', 40]]);
  await destination('dst_recent', [
    ['set', 40],
    ['deleted', 29],
  ]);
  await destination('dst_old', [
    ['set', 40],
    ['deleted', 31],
  ]);
  await destination('dst_restored', [
    ['set', 40],
    ['deleted', 35],
    ['set', 33],
  ]);
  await keepWithin(database, { forMs: 30 * DAY_MS, maxBytes: 1e9 }, NOW_MS);
  const left = await database.query('select destination from waypost.health order by 1');
  expect(left.map((row) => row.destination)).toEqual(['dst_here', 'dst_recent', 'dst_restored']);
});

test('what the counts take is not left to the deliveries', async () => {
  // Their partitions are not over, and so have no indexes yet.
  for (const days of [1, 2]) {
    const acceptedAt = new Date(NOW_MS + days * DAY_MS).toISOString();
    await storeEvents(database, [anEvent({ delivery: acceptedAt, acceptedAt, at: acceptedAt })]);
  }
  const [size] = await database.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(('waypost.' || part)::regclass))::bigint as bytes
     from waypost.parts, unnest(array[name, replace(name, 'deliveries_', 'responses_')]) as part`,
  );
  const keep = { forMs: 30 * DAY_MS, maxBytes: size!.bytes + 1 };
  expect(await keepWithin(database, keep, NOW_MS)).toHaveLength(1);
});

test('a deletion stays as proof, and keeps out events as long as Kafka may have them', async () => {
  const deletion = (user: string, at: number) => ({
    id: `del_${user}`,
    at,
    users: [user],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  });
  const days = { past: 400, oldest: 37, recent: 1 };
  for (const [user, ago] of Object.entries(days)) {
    await recordDeletion(database, deletion(user, NOW_MS - ago * DAY_MS));
  }
  await keepWithin(database, { forMs: 7 * DAY_MS, maxBytes: 1e9 }, NOW_MS);
  for (const user of Object.keys(days)) {
    expect(await getDeletion(database, `del_${user}`)).toMatchObject({ users: [user] });
  }
  const forgotten = new Forgotten();
  await forgotten.refresh(database, NOW_MS);
  const known = Object.keys(days).filter((user) => forgotten.wasDeletedSince(user, 0));
  expect(known).toEqual(['oldest', 'recent']);
  expect(days.oldest * DAY_MS).toBeLessThan(DELETIONS_KEPT_MS);
});

test('a process whose last deletion is long past asks for it once', async () => {
  const forgotten = new Forgotten();
  await forgotten.refresh(database, NOW_MS + 500 * DAY_MS);
  const seq = forgotten.latestSeq;
  await forgotten.refresh(database, NOW_MS + 500 * DAY_MS);
  expect([seq > 0, forgotten.latestSeq]).toEqual([true, seq]);
});
