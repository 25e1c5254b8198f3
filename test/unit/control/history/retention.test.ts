import { type Database } from '../../../../services/control/history/database';
import { keepWithin } from '../../../../services/control/history/retention';
import { memoryDatabase } from '../../../support/database';

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
  for (const [key, days] of [
    ['certificate/old', 61],
    ['certificate/recent', 59],
  ] as const) {
    await database.query('insert into waypost.signals (key, at, event) values ($1, $2, $3)', [
      key,
      NOW_MS - days * DAY_MS,
      '{}',
    ]);
  }
  await keepWithin(database, { forMs: 30 * DAY_MS, maxBytes: 1e9 }, NOW_MS);
  const [replays, signals] = [
    await database.query('select id from waypost.replays order by id'),
    await database.query('select key from waypost.signals'),
  ];
  expect([replays, signals]).toEqual([
    [{ id: 'active' }, { id: 'recent' }],
    [{ key: 'certificate/recent' }],
  ]);
});
