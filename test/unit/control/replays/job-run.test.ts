import { type Database } from '../../../../services/control/history/database';
import { type Job, newJob } from '../../../../services/control/replays/job';
import { JobRun, RateLimiter, type ReplayDeps } from '../../../../services/control/replays/job-run';
import { LeasedJob } from '../../../../services/control/replays/leased-job';
import { createEncryptor } from '../../../../shared/config/encryption';
import { encodeDelivery } from '../../../../shared/model/delivery';
import { createLog } from '../../../../shared/telemetry/log';
import { START } from '../../../support/events';
import { aDelivery, aDestination } from '../../../support/factories';
import { memoryLog } from '../../../support/memory-log';

test('a rate of 2 a second allows a record each 500 ms by the given clock', async () => {
  let nowMs = 0;
  const limiter = new RateLimiter(2, () => nowMs);
  const isFree = async () => {
    let waited = false;
    await limiter.take(1, () => !(waited = true));
    return !waited;
  };
  expect(await isFree()).toBe(true);
  nowMs = 600;
  expect(await isFree()).toBe(true);
  expect(await isFree()).toBe(false);
});

test('a process that is stopped while it makes records sends none of them afterwards', async () => {
  const memory = memoryLog();
  const letter = encodeDelivery(aDelivery({ destinationId: 'dst_1' }));
  memory.append([{ topic: 'webhooks.dead', key: 'dst_1:0', value: '{}', headers: letter }]);
  let isOwner = true;
  const database = {
    query: (sql: string) =>
      Promise.resolve(isOwner && sql.includes('waypost.replays') ? [{ status: 'running' }] : []),
  } as unknown as Database;
  let steadyMs = 0;
  const options = {
    kafka: memory.kafka,
    producer: await memory.kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 }),
    history: {
      ask: <T>(work: (database: Database) => Promise<T>) => work(database),
      hasRead: () => Promise.resolve(true),
      forgotten: { has: () => false },
      learnDeletions: () => Promise.resolve(),
    },
    config: {
      source: () => undefined,
      destination: () => ({ version: 1, data: aDestination() }),
    },
    encryptor: createEncryptor([Buffer.alloc(32, 7)]),
    windowMs: 1_000,
    // The time of the records is read: the process stops, and another one takes the job over.
    now: () => {
      steadyMs += 20_000;
      isOwner = false;
      return new Date(START);
    },
    steadyMs: () => steadyMs,
    owner: 'this process',
    isStopping: () => false,
    log: createLog('test', 'silent'),
  } as unknown as ReplayDeps & ConstructorParameters<typeof LeasedJob>[1];
  const scope = {
    destination: 'dst_1',
    origin: 'dead_letters',
    from: null,
    to: START * 2,
    status: null,
    reason: null,
    type: null,
    includeDelivered: false,
    onlyFailedUrls: false,
  } as const;
  const places = [{ partition: 0, low: 0, next: 0, end: 1 }];
  const wanted = { scope, preview: false, maxPerSecond: 1_000 };
  const made = { id: 'rpl_1', now: new Date(START), places };
  const job: Job = { ...newJob(wanted, made), status: 'running', pass: 'running' };
  const leased = new LeasedJob(job, options);
  await new JobRun(leased, options).toEnd();
  expect([leased.lost, memory.records('webhooks.due')]).toEqual([true, []]);
});
