import * as fc from 'fast-check';
import { keepCounts } from '../../../../services/control/history/stored-counts';
import { storeEvents } from '../../../support/store-events';
import { DELIVERY_STATUSES, findsStatus } from '../../../../shared/model/reasons';
import { type Database } from '../../../../services/control/history/database';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { dropDeliveries, memoryDatabase } from '../../../support/database';
import { at } from '../../../support/events';
import { randomHistory, type Story } from '../../../support/stories';
import { fewerCases, seedRanges } from '../../../support/cases';

/** Counts the deliveries of a destination one by one. */
function recount(stories: readonly Story[]) {
  const with_ = (...statuses: string[]) =>
    stories.filter(({ status }) => statuses.includes(status)).length;
  const sum = (of: (story: Story) => number) =>
    stories.reduce((total, story) => total + of(story), 0);
  return {
    delivered: with_('delivered', 'partly_delivered'),
    partlyDelivered: with_('partly_delivered'),
    dead: with_('dead'),
    cancelled: with_('cancelled'),
    waiting: with_('waiting'),
    retrying: with_('retrying'),
    held: with_('held'),
    attempts: sum(({ attempts }) => attempts),
    failedAttempts: sum(({ failed }) => failed),
  };
}

let database: Database;
let control: ControlUnderTest;
const made: string[] = [];
beforeAll(async () => {
  database = await memoryDatabase();
  control = await controlUnderTest({ database });
  control.clock.now = new Date(at(3_600));
  for (const name of ['One', 'Two']) {
    made.push((await control.destination({ name })).id as string);
  }
});
afterAll(() => database.close());

test.each(seedRanges(fewerCases(25), 5))(
  'the counts of the API equal a recount of random histories (from %i to %i)',
  async (from, to) => {
    const get = (path: string) => control.get(path);
    await fc.assert(
      fc.asyncProperty(randomHistory(made), async ({ stories, batches }) => {
        await dropDeliveries(database);
        await database.query('delete from waypost.counts');
        await database.query('update waypost.counted set minutes_from = 0, hours_to = 0');
        for (const [i, batch] of batches.entries()) {
          await storeEvents(database, batch);
          // The minutes of a part of the events are in their hours when the others come.
          const nowMs = Date.parse(at((3_600 * i) / batches.length));
          await keepCounts(database, { sinceMs: 0, maxBytes: 1e12 }, nowMs);
        }

        const { data, series, open } = await get('/overview');
        for (const [i, id] of made.entries()) {
          const expected = recount(stories.filter(({ destination }) => destination === i));
          expect(
            data.find(({ destination }: { destination: string }) => destination === id),
          ).toMatchObject(expected);
          const health = await get(`/destinations/${id}/health`);
          expect(health.waiting).toBe(expected.waiting + expected.retrying + expected.held);
          const { attempts, failedAttempts } = expected;
          if (attempts > 0) {
            expect(health.successRate).toBeCloseTo(1 - failedAttempts / attempts, 9);
          }
        }
        const all = recount(stories);
        const { waiting, retrying, held } = all;
        expect(open).toEqual({ waiting, retrying, held });
        for (const what of [
          'delivered',
          'partlyDelivered',
          'dead',
          'cancelled',
          'attempts',
          'failedAttempts',
        ] as const) {
          expect([
            what,
            series.reduce((sum: number, step: Record<string, number>) => sum + step[what]!, 0),
          ]).toEqual([what, all[what]]);
        }
        for (const status of DELIVERY_STATUSES) {
          const expected = stories.filter((story) => findsStatus(status, story.status)).length;
          const { data: found, total } = await get(
            `/deliveries?limit=200&status=${status}&total=true`,
          );
          expect([status, found.length, total]).toEqual([
            status,
            expected,
            { count: expected, exact: true },
          ]);
        }
      }),
      { numRuns: to - from },
    );
  },
);
