import * as fc from 'fast-check';
import { type Database } from '../../../../services/control/history/database';
import { CountSums, type MinuteCount } from '../../../../services/control/history/minute-counts';
import {
  countableSpan,
  sumOf as sumOfRows,
} from '../../../../services/control/history/count-series';
import {
  countsBetween,
  countsInSteps,
  troubledMinutes,
  withSince,
} from '../../../../services/control/history/queries';
import {
  addCounts,
  ALL,
  countsToKeep,
  type HourRows,
  keepCounts,
  oldestMinute,
} from '../../../../services/control/history/stored-counts';
import { fewerCases } from '../../../support/cases';
import { memoryDatabase } from '../../../support/database';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const HOUR = 1_000 * HOUR_MS;
const NOW_MS = HOUR + 30 * MINUTE_MS;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
const empty = async () => {
  await database.query('delete from waypost.counts');
  await database.query('update waypost.counted set minutes_from = 0, hours_to = 0');
};
beforeEach(empty);
afterAll(() => database.close());

const count = (minute: number, what = 'attempts') => ({
  destination: 'dst_1',
  minute,
  what,
  count: 1,
});
const add = (...counts: MinuteCount[]) =>
  database.transaction((queries) => addCounts(queries, new CountSums(counts)));
const KEEP = { sinceMs: 0, maxBytes: 1e9 };
const sumOf = async (sinceMs: number, untilMs: number) =>
  (await countsBetween(database, { sinceMs, untilMs }, [ALL]))[0]?.attempts ?? 0;

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
  await add(...past, count(NOW_MS - MINUTE_MS, 'failed'));
  await keepCounts(database, KEEP, NOW_MS);
  await database.query('analyze waypost.counts');
  await keepCounts(database, { ...KEEP, maxBytes: 4 * 100 * 320 }, NOW_MS);
  const recent = { sinceMs: NOW_MS - 15 * MINUTE_MS, untilMs: NOW_MS };
  expect(await withSince(database, 'failed', recent)).toEqual(['dst_1']);
  const [row] = await database.query<{ rows: number }>(
    'select count(*) as rows from waypost.counts',
  );
  expect(row!.rows).toBeLessThanOrEqual(90);
});

test('a minute in the future does not hide the minutes of now', async () => {
  await add(count(NOW_MS + 72 * HOUR_MS), count(NOW_MS - MINUTE_MS));
  expect(await sumOf(NOW_MS - 15 * MINUTE_MS, NOW_MS)).toBe(1);
  expect(await sumOf(HOUR - 24 * HOUR_MS, NOW_MS)).toBe(1);
});

test('a late count alone in a minute does not stand for its hour', async () => {
  const before = HOUR - 26 * HOUR_MS;
  await add(count(before), count(before + MINUTE_MS));
  await add(count(HOUR - 3 * HOUR_MS));
  await keepCounts(database, KEEP, NOW_MS);
  await add(count(before + 2 * MINUTE_MS));
  expect(await sumOf(before - HOUR_MS / 2, NOW_MS)).toBe(4);
});

const given = fc.record({
  destination: fc.constantFrom('dst_1', 'dst_2'),
  minute: fc.nat(300).map((ago) => HOUR + (60 - ago) * MINUTE_MS),
  what: fc.constantFrom('attempts', 'failed', 'dead', 'took:17', 'took:22'),
  count: fc.integer({ min: -1, max: 3 }),
});
const turn = fc.record({
  counts: fc.array(given, { maxLength: 8 }),
  // Minutes are added to their hours at any time, also by a clock that was wrong.
  maintainedAt: fc.option(fc.nat(400).map((ago) => HOUR + (120 - ago) * MINUTE_MS)),
});
/** By then only hours are left. */
const LATER = HOUR + 26 * HOUR_MS;

test('minutes and hours together have each count once, in any span and step', async () => {
  const spans = fc.record({
    sinceMs: fc.nat(300).map((ago) => HOUR + (60 - ago) * MINUTE_MS),
    lengthMs: fc.nat(300).map((minutes) => minutes * MINUTE_MS),
    stepMs: fc.constantFrom(5 * MINUTE_MS, HOUR_MS),
    beginsWithHour: fc.boolean(),
    isLater: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 6 }), spans, async (turns, asked) => {
      await empty();
      const all: MinuteCount[] = [];
      for (const { counts, maintainedAt } of turns) {
        all.push(...counts);
        await add(...counts);
        if (maintainedAt !== null) await keepCounts(database, KEEP, maintainedAt);
      }
      if (asked.isLater) await keepCounts(database, KEEP, LATER);
      const begins = asked.beginsWithHour ? HOUR_MS : asked.stepMs;
      const askedSinceMs = Math.floor(asked.sinceMs / begins) * begins;
      const span = countableSpan(
        {
          sinceMs: askedSinceMs,
          untilMs: askedSinceMs + asked.lengthMs,
          stepMs: asked.stepMs,
        },
        await oldestMinute(database),
      );
      const { sinceMs, stepMs } = span;
      const inSpan = all.filter(({ minute }) => minute >= sinceMs && minute < span.untilMs);
      const sums = (counts: MinuteCount[], what: string) =>
        counts.reduce((sum, each) => sum + (each.what === what ? each.count : 0), 0);

      const steps = await countsInSteps(database, { ...span, destination: undefined });
      const expected = new Map<number, number>();
      for (const each of inSpan.filter(({ what }) => what === 'attempts')) {
        const at = Math.floor(each.minute / stepMs) * stepMs;
        expected.set(at, (expected.get(at) ?? 0) + each.count);
      }
      for (const { at, attempts } of steps) {
        expect([at, attempts]).toEqual([at, expected.get(at) ?? 0]);
        expected.delete(at);
      }
      expect([...expected.values()].filter((left) => left !== 0)).toEqual([]);
      for (const destination of ['dst_1', 'dst_2']) {
        const own = inSpan.filter((each) => each.destination === destination);
        const found = sumOfRows(await countsBetween(database, span, [destination]));
        for (const what of ['attempts', 'failed', 'dead', 'took:17', 'took:22']) {
          expect([destination, what, found.get(what) ?? 0]).toEqual([
            destination,
            what,
            sums(own, what),
          ]);
        }
        const isDead = (await withSince(database, 'dead', span)).includes(destination);
        expect(isDead).toBe(sums(own, 'dead') > 0);
      }
    }),
    { numRuns: fewerCases(200) },
  );
});

test('an hour has few rows to change: its minutes are added to it every ten minutes', async () => {
  await add(count(HOUR), count(HOUR + 9 * MINUTE_MS), count(HOUR + 10 * MINUTE_MS));
  const hours = async () =>
    (
      await database.query<{ attempts: number }>(
        `select attempts from waypost.counts where minutes = 60 and destination = 'dst_1'`,
      )
    ).map(({ attempts }) => attempts);
  await keepCounts(database, KEEP, HOUR + 11 * MINUTE_MS - 1);
  expect(await hours()).toEqual([]);
  await keepCounts(database, KEEP, HOUR + 11 * MINUTE_MS);
  expect(await hours()).toEqual([2]);
  await add(count(HOUR + 5 * MINUTE_MS), count(HOUR + 12 * MINUTE_MS));
  expect(await hours()).toEqual([3]);
  expect(await sumOf(HOUR, HOUR + HOUR_MS)).toBe(5);
});

test('the minutes with a failure are found in order, those of this destination only', async () => {
  const minute = (n: number) => HOUR + n * MINUTE_MS;
  await add(
    count(minute(1), 'failed'),
    count(minute(9), 'failed'),
    count(minute(7), 'partly'),
    count(minute(5)),
    { ...count(minute(6), 'failed'), destination: 'dst_2' },
  );
  await keepCounts(database, KEEP, NOW_MS);
  expect(await troubledMinutes(database, 'dst_1', minute(2))).toEqual([minute(7), minute(9)]);
});
