import { evidenceHandler } from '../../../../services/control/alerts/evidence-reader';
import { type Database } from '../../../../services/control/history/database';
import { troubled } from '../../../../services/control/health/store';
import { readPositions } from '../../../../services/control/reading/positions';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { type Kafka } from '../../../../shared/kafka/port';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { aDeath, anEvent, at } from '../../../support/events';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';
import { readerOf } from '../../../support/reader';

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
  readerOf(evidenceHandler(Date.now), {
    kafka: { ...memory.kafka, ...over },
    history: { ask: (work) => work(database) },
  });
const dead = async () =>
  [...(await troubled(database)).values()].map((health) => health.dead?.count ?? 0);
const position = async () => (await readPositions(database, 'alerts')).get(0)?.next;

test('each record counts once although two processes alternate', async () => {
  const [one, two] = [reader(), reader()];
  append(aDeath(), anEvent({ destination: 'dst_2' }));
  await one.poll();
  append(aDeath());
  await two.poll();
  append(aDeath());
  // The first reader does not know that the second has read: it writes nothing, and starts where
  // the second ended.
  await one.poll();
  expect(await dead()).toEqual([2]);
  await one.poll();
  expect([await dead(), await position()]).toEqual([[3], 4]);
});

test('trouble is told once it is stored, and success is not', async () => {
  const told: number[][] = [];
  const tell = async () => told.push(await dead());
  const one = readerOf(
    evidenceHandler(Date.now, () => void tell()),
    { kafka: memory.kafka, history: { ask: (work) => work(database) } },
  );
  append(anEvent());
  await one.poll();
  expect(told).toEqual([]);
  append(aDeath());
  await one.poll();
  await eventually(() => expect(told).toEqual([[1]]));
});

test('unreadable records are passed', async () => {
  append(aDeath(), 'no event');
  await reader().poll();
  expect(await position()).toBe(2);
});

test('a new database begins an hour back, and another reads on', async () => {
  append(aDeath(), aDeath());
  const begins = (low: number) =>
    reader({
      ranges: (_, since) =>
        Promise.resolve([{ partition: 0, low: since === undefined ? 0 : low, high: 2 }]),
    });
  await begins(1).poll();
  expect(await dead()).toEqual([1]);
  append(aDeath({ at: at(9) }));
  await reader().poll();
  expect(await dead()).toEqual([2]);
});
