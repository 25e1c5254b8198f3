import { type Database } from '../../../../services/control/history/database';
import { newRecallJob } from '../../../../services/control/replays/job';
import { LeasedJob } from '../../../../services/control/replays/leased-job';
import { RecallRun } from '../../../../services/control/replays/recall-run';
import pino from 'pino';
import { AppError } from '../../../../shared/runtime/errors';
import { START } from '../../../support/events';
import { aDestination } from '../../../support/factories';
import { recordingProducer } from '../../../support/fakes';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('a job says once that Kafka is away, and again after Kafka was there', async () => {
  const lines: string[] = [];
  let isAway = true;
  let looks = 0;
  let isStopping = false;
  const database = { query: () => Promise.resolve([{ count: 0, status: 'running' }]) };
  const options = {
    kafka: {
      read: () => Promise.reject(new Error('nothing is to be read')),
      ranges: () => {
        looks++;
        return isAway
          ? Promise.reject(new AppError('kafka_unavailable', 'away', true))
          : Promise.resolve([{ partition: 0, low: 0, high: 0 }]);
      },
    },
    producer: recordingProducer(),
    history: {
      ask: <T>(work: (database: Database) => Promise<T>) => work(database as unknown as Database),
    },
    config: { destination: () => ({ version: 1, data: aDestination() }) },
    windowMs: 1_000,
    owner: 'this process',
    isStopping: () => isStopping,
    now: () => new Date(START),
    steadyMs: () => 0,
    log: pino({}, { write: (line) => lines.push(line) }),
  };
  const job = newRecallJob(
    { destination: 'dst_1', action: 'retry', maxPerSecond: null },
    { id: 'rpl_1', now: new Date(START) },
  );
  const ended = new RecallRun(new LeasedJob(job, options), options).toEnd();
  const warned = () => lines.filter((line) => line.includes('replay.interrupted')).length;
  await jest.advanceTimersByTimeAsync(3_000);
  expect([looks > 5, warned()]).toEqual([true, 1]);
  isAway = false;
  await jest.advanceTimersByTimeAsync(1_000);
  isAway = true;
  await jest.advanceTimersByTimeAsync(3_000);
  expect(warned()).toBe(2);
  isStopping = true;
  await jest.advanceTimersByTimeAsync(1_000);
  await ended;
});
