import { AttemptReader } from '../../../../services/control/alerts/reader';
import { troubled } from '../../../../services/control/health/store';
import { readPositions } from '../../../../services/control/alerts/store';
import { type Database } from '../../../../services/control/history/database';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { type Kafka, type ReadAt } from '../../../../shared/kafka/port';
import { AppError } from '../../../../shared/runtime/errors';
import { memoryDatabase } from '../../../support/database';
import { aDeath, aFailure, anEvent, at } from '../../../support/events';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';

let database: Database;
let memory: MemoryLog;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['health', 'positions']) await database.query(`delete from waypost.${table}`);
  memory = memoryLog();
});

const append = (...events: (DeliveryEvent | string)[]) =>
  memory.append(
    events.map((event) => ({
      topic: 'attempts',
      key: 'k',
      value: typeof event === 'string' ? event : JSON.stringify(event),
    })),
  );
const reader = (over: Partial<Kafka> = {}) =>
  new AttemptReader({
    kafka: { ...memory.kafka, ...over },
    history: { ask: (work) => work(database) },
    now: () => new Date(),
  });
const always = () => Promise.resolve(true);
const dead = async () =>
  [...(await troubled(database)).values()].map((health) => health.dead?.count ?? 0);
const position = async () => (await readPositions(database)).get(0);

test('the reader counts each record once although two processes alternate', async () => {
  const [one, two] = [reader(), reader()];
  append(aDeath(), anEvent({ destination: 'dst_2' }));
  expect(await one.readToEnds(always)).toBe(true);
  append(aDeath());
  expect(await two.readToEnds(always)).toBe(true);
  append(aDeath());
  // The first reader does not know that the second has read: it writes nothing, and starts where
  // the second ended.
  expect(await one.readToEnds(always)).toBe(false);
  expect(await dead()).toEqual([2]);
  expect(await one.readToEnds(always)).toBe(true);
  expect([await dead(), await position()]).toEqual([[3], 4]);
});

test('the reader passes unreadable records', async () => {
  append(aDeath(), 'no event');
  expect([await reader().readToEnds(always), await position()]).toEqual([true, 2]);
});

test('the reader waits at a record of a newer format, and reads on once it can', async () => {
  append(aDeath());
  memory.append([
    { topic: 'attempts', key: 'k', value: JSON.stringify(aDeath()), headers: { format: '9' } },
  ]);
  await expect(reader().readToEnds(always)).rejects.toMatchObject({ code: 'newer_format' });
  expect([await dead(), await position()]).toEqual([[], 0]);
});

test('the reader stores no position behind a record that Kafka does not return', async () => {
  append(aFailure());
  const asked: ReadAt[] = [];
  const throttled = reader({
    read: (at) => {
      asked.push(at);
      return Promise.reject(
        new AppError('kafka_unavailable', 'the broker throttles this client', true),
      );
    },
  });
  await expect(throttled.readToEnds(always)).rejects.toMatchObject({ code: 'kafka_unavailable' });
  // Below the end that it names, no read takes an empty answer for the end.
  expect(asked).toMatchObject([{ offset: 0, until: 1 }]);
  expect(await position()).toBe(0);
});

test('the reader stops at the ends it read first', async () => {
  append(aFailure());
  const ranges = memory.kafka.ranges;
  const busy = reader({
    ranges: async (...asked) => {
      const ends = await ranges(...asked);
      append(aFailure());
      return ends;
    },
  });
  expect(await busy.readToEnds(always)).toBe(true);
});

test('the reader writes nothing once another process has the lease', async () => {
  append(aDeath());
  expect(await reader().readToEnds(() => Promise.resolve(false))).toBe(false);
  expect([await dead(), await position()]).toEqual([[], 0]);
});

test('the reader starts an hour back without positions, or with an older history', async () => {
  append(aDeath(), aDeath());
  const begins = (low: number) =>
    reader({
      ranges: (_, since) =>
        Promise.resolve([{ partition: 0, low: since === undefined ? 0 : low, high: 2 }]),
    });
  expect(await begins(1).readToEnds(always)).toBe(true);
  expect(await dead()).toEqual([1]);
  append(aDeath({ at: at(9) }));
  expect(await reader().readToEnds(always)).toBe(true);
  expect(await dead()).toEqual([2]);
});

test('the reader continues at the end of a topic that lost its tail', async () => {
  append(aDeath());
  await database.query('insert into waypost.positions values (0, 50)');
  expect([await reader().readToEnds(always), await position()]).toEqual([true, 1]);
  expect(await dead()).toEqual([]);
});
