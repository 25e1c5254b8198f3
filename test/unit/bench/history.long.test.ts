import { type Database } from '../../../services/control/history/database';
import { fill } from '../../../tools/bench/history/fill';
import { answerAll, overviewQuestions } from '../../../tools/bench/history/queries';
import { Progress } from '../../../tools/bench/progress';
import { dropDeliveries, memoryDatabase } from '../../support/database';

/** A day of deliveries, of which a part has rows. */

const DAY_MS = 86_400_000;
const END_MS = Date.parse('2026-11-21T00:00:00.000Z');
const PAST = { count: 300, from: END_MS - DAY_MS, to: END_MS, destinations: 5 };
const progress = new Progress(() => undefined);

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());

/** Writes the day into an empty history. */
async function fillWith(rowEvery: number) {
  await dropDeliveries(database);
  await database.query('delete from waypost.counts');
  await database.query('update waypost.counted set minutes_from = 0, hours_to = 0');
  return fill(
    database,
    { past: PAST, rowEvery, keep: { forMs: 30 * DAY_MS, maxBytes: 1e9 } },
    { from: 0, forMs: Infinity, progress },
  );
}
const rows = () => database.query('select id from waypost.deliveries');

test('all deliveries count, whatever part of them has rows', async () => {
  const counts = () =>
    database.query(
      `select destination, minutes, minute, attempts, failed, delivered, dead, cancelled
       from waypost.counts order by destination, minutes, minute`,
    );
  await fillWith(1);
  const [all, allCounts] = [await rows(), await counts()];
  expect(allCounts.length).toBeGreaterThan(PAST.destinations);
  await fillWith(10);
  expect([all.length, (await rows()).length]).toEqual([PAST.count, PAST.count / 10]);
  expect(await counts()).toEqual(allCounts);
});

test('the overview is asked about the last day', async () => {
  await fillWith(10);
  const answered = await answerAll(await overviewQuestions(database, PAST, 9));
  const rowsOf = Object.fromEntries(answered.map(({ question, rows: found }) => [question, found]));
  expect(rowsOf).toMatchObject({
    'overview: counts of a day': PAST.destinations,
    'overview: the whole answer': 9,
  });
});
