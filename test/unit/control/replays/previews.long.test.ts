import { type Database } from '../../../../services/control/history/database';
import { keepWithin } from '../../../../services/control/history/retention';
import { listJobs } from '../../../../services/control/replays/store';
import { memoryDatabase } from '../../../support/database';

const HOUR_MS = 3_600_000;
const NOW_MS = 10_000 * HOUR_MS;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());

test('previews are not listed, and go a day after they were asked for', async () => {
  for (const [id, hours, job] of [
    ['old', 25, { id: 'old', status: 'done', preview: true }],
    ['runs', 25, { id: 'runs', status: 'running', preview: true }],
    ['new', 23, { id: 'new', status: 'done', preview: true }],
    ['replay', 25, { id: 'replay', status: 'done', preview: false }],
    ['retry', 26, { id: 'retry', status: 'done' }],
  ] as const) {
    await database.query(
      'insert into waypost.replays (id, at, job, lease_until) values ($1, $2, $3, 0)',
      [id, NOW_MS - hours * HOUR_MS, JSON.stringify(job)],
    );
  }
  await keepWithin(database, { forMs: 30 * 24 * HOUR_MS, maxBytes: 1e9 }, NOW_MS);
  const left = await database.query<{ id: string }>('select id from waypost.replays order by id');
  expect(left.map(({ id }) => id)).toEqual(['new', 'replay', 'retry', 'runs']);
  const listed = await listJobs(database, { limit: 10 });
  expect(listed.rows.map(({ id }) => id)).toEqual(['replay', 'retry']);
});
