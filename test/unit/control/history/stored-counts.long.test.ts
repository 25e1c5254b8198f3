import { type Database } from '../../../../services/control/history/database';
import { countsBetween, withSince } from '../../../../services/control/history/queries';
import {
  addCounts,
  countsToKeep,
  type HourRows,
  keepCounts,
} from '../../../../services/control/history/stored-counts';
import { memoryDatabase } from '../../../support/database';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const HOUR = 1_000 * HOUR_MS;
const NOW_MS = HOUR + 30 * MINUTE_MS;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
beforeEach(async () => {
  await database.query('delete from waypost.counts');
  await database.query(`delete from waypost.meta where key <> 'version'`);
});
afterAll(() => database.close());

const count = (minute: number, what = 'attempts') => ({
  destination: 'dst_1',
  minute,
  what,
  count: 1,
});
const KEEP = { sinceMs: 0, maxBytes: 1e9 };
const sumOf = async (sinceMs: number, untilMs: number) =>
  (await countsBetween(database, { sinceMs, untilMs })).reduce((sum, each) => sum + each.count, 0);

test('what is too much goes in its order, and the latest minutes never', () => {
  const rows: HourRows[] = [0, 1, 2, 3, 4].flatMap((ago) => [
    { minutes: 1, hour: HOUR - ago * HOUR_MS, count: 10 },
    { minutes: 60, hour: HOUR - ago * HOUR_MS, count: 1 },
  ]);
  const ago = (hours: number) => HOUR - hours * HOUR_MS;
  const table: [most: number, minutes: number, hours: number][] = [
    [55, 0, 0],
    [54, ago(3), 0],
    [45, ago(3), 0],
    [44, ago(2), 0],
    [35, ago(2), 0],
    [34, ago(2), ago(3)],
    [31, ago(2), ago(0)],
    [5, ago(2), ago(-1)],
  ];
  for (const [most, minutes, hours] of table) {
    expect([most, countsToKeep(rows, most, NOW_MS)]).toEqual([most, { minutes, hours }]);
  }
});

test('hours that fill the space do not drop the minutes that tell what fails now', async () => {
  const past = Array.from({ length: 200 }, (_, i) => count(HOUR - (i + 30) * HOUR_MS));
  await addCounts(database, [...past, count(NOW_MS - MINUTE_MS, 'failed')]);
  await keepCounts(database, KEEP, NOW_MS);
  await database.query('analyze waypost.counts');
  await keepCounts(database, { ...KEEP, maxBytes: 4 * 100 * 181 }, NOW_MS);
  const recent = { sinceMs: NOW_MS - 15 * MINUTE_MS, untilMs: NOW_MS };
  expect(await withSince(database, 'failed', recent)).toEqual(['dst_1']);
  const [row] = await database.query<{ rows: number }>(
    'select count(*) as rows from waypost.counts',
  );
  expect(row!.rows).toBeLessThanOrEqual(90);
});

test('a minute in the future does not hide the minutes of now', async () => {
  await addCounts(database, [count(NOW_MS + 72 * HOUR_MS), count(NOW_MS - MINUTE_MS)]);
  expect(await sumOf(NOW_MS - 15 * MINUTE_MS, NOW_MS)).toBe(1);
  expect(await sumOf(HOUR - 24 * HOUR_MS, NOW_MS)).toBe(1);
});

test('a late count alone in a minute does not stand for its hour', async () => {
  const before = HOUR - 26 * HOUR_MS;
  await addCounts(database, [count(before), count(before + MINUTE_MS)]);
  await addCounts(database, [count(HOUR - 3 * HOUR_MS)]);
  await keepCounts(database, KEEP, NOW_MS);
  await addCounts(database, [count(before + 2 * MINUTE_MS)]);
  expect(await sumOf(before - HOUR_MS / 2, NOW_MS)).toBe(4);
});
