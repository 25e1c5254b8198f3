import { type Database } from '../../../../services/control/history/database';
import { type Job, newJob, newRecallJob } from '../../../../services/control/replays/job';
import { deadDelivery, replayRecords } from '../../../../services/control/replays/candidates';
import { JobRun, RateLimiter, type ReplayDeps } from '../../../../services/control/replays/job-run';
import { Replays } from '../../../../services/control/replays/runner';
import { LeasedJob } from '../../../../services/control/replays/leased-job';
import { RecallRun } from '../../../../services/control/replays/recall-run';
import { createEncryptor } from '../../../../shared/config/encryption';
import { encodeDelivery } from '../../../../shared/model/delivery';
import { defined } from '../../../../shared/collections/defined';
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

/** A replay of one dead letter, whose process owns it. */
async function setUp(dead: { reason?: string; value?: string } = {}) {
  const memory = memoryLog();
  const { reason, value = '{}' } = dead;
  const headers = encodeDelivery(aDelivery({ destinationId: 'dst_1', ...defined({ reason }) }));
  memory.append([{ topic: 'webhooks.dead', key: 'dst_1:0', value, headers }]);
  const world = {
    steadyMs: 0,
    isOwner: true,
    /** the row of the delivery in the history */
    row: undefined as object | undefined,
    onTime: (): void => undefined,
    onRenewal: (): void => undefined,
  };
  const database = {
    query: (sql: string) => {
      if (sql.includes('waypost.deliveries')) return Promise.resolve(world.row ? [world.row] : []);
      if (sql.includes('set lease_until')) world.onRenewal();
      return Promise.resolve(world.isOwner ? [{ status: 'running' }] : []);
    },
  } as unknown as Database;
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
    now: () => {
      world.onTime();
      return new Date(START);
    },
    steadyMs: () => world.steadyMs,
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
  const due = () => memory.records('webhooks.due').map(({ headers }) => headers.delivery);
  const run = () => new JobRun(leased, options).toEnd();
  return {
    memory,
    world,
    options,
    scope,
    leased,
    due,
    run,
  };
}

test('a process that is stopped while it makes records sends none of them afterwards', async () => {
  const { world, leased, due, run } = await setUp();
  // The time of the records is read: the process stops, and another one takes the job over.
  world.onTime = () => {
    world.steadyMs += 20_000;
    world.isOwner = false;
  };
  await run();
  expect([leased.lost, due()]).toEqual([true, []]);
});

test('a record sent before a process was killed is found hours behind the saved ends', async () => {
  const { memory, leased, due, run } = await setUp();
  const context = { nowMs: START, windowMs: 1_000, job: 'rpl_1' };
  const [letter] = memory.records('webhooks.dead');
  const [, record] = replayRecords(deadDelivery(letter!)!, 1, context);
  const ofAnother = { ...record!.headers, job: 'rpl_2', delivery: 'dlv_2' };
  const hoursLater = START + 2 * 3_600_000;
  const clock = jest.spyOn(Date, 'now').mockReturnValue(START);
  /** fills a fetch */
  const foreign = { ...record!, headers: ofAnother, value: 'x'.repeat(1_024 * 1_024) };
  memory.append([foreign]);
  clock.mockReturnValue(hoursLater);
  memory.append([foreign, record!]);
  clock.mockRestore();
  leased.job.updatedAt = hoursLater;
  await run();
  expect(due()).toEqual(['dlv_2', 'dlv_2', 'dlv_1']);
});

test('an event without its record is resent, also if the first renewal is too slow', async () => {
  const { memory, world, due, run } = await setUp();
  const [letter] = memory.records('webhooks.dead');
  const context = { nowMs: START, windowMs: 1_000, job: 'rpl_1' };
  const [event] = replayRecords(deadDelivery(letter!)!, 1, context);
  memory.append([event!]);
  world.row = { id: 'dlv_1', status: 'waiting', reason: 'replayed', replay: 1, tries: null };
  world.steadyMs = 5_000;
  world.onRenewal = () => {
    world.steadyMs += 5_000;
    world.onRenewal = () => undefined;
  };
  await run();
  expect(due()).toEqual(['dlv_1']);
});

test('a delivery that Kafka refuses for good ends, and the replay goes on behind it', async () => {
  const { memory, leased, due, run } = await setUp({ value: 'x'.repeat(5_000) });
  const headers = encodeDelivery(aDelivery({ id: 'dlv_2', destinationId: 'dst_1' }));
  memory.append([{ topic: 'webhooks.dead', key: 'dst_1:0', value: '{}', headers }]);
  leased.job.places = [{ partition: 0, low: 0, next: 0, end: 2 }];
  memory.refuse(({ topic, value }) => topic === 'webhooks.due' && value!.length > 1_000);
  await run();
  const { status, sent, error } = leased.job;
  expect([status, sent, error, due()]).toEqual(['done', 2, null, ['dlv_2']]);
  expect(memory.records('webhooks.dead').at(-1)).toMatchObject({
    headers: { delivery: 'dlv_1', replay: '1', reason: 'too_large' },
  });
  const events = memory
    .records('attempts')
    .map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>)
    .filter(({ delivery }) => delivery === 'dlv_1');
  expect(events.at(-1)).toMatchObject({ kind: 'dead', reason: 'too_large', replay: 1 });
});

test('a dead letter whose message is gone is not counted as sent', async () => {
  const value = JSON.stringify({ record: { partition: 0, offset: 0 } });
  const { leased, due, run } = await setUp({ reason: 'render_failed', value });
  await run();
  const { status, sent } = leased.job;
  expect([status, sent, due()]).toEqual(['done', 0, []]);
});

test('a replay from a time reads calls whose ingest had a clock ahead of the brokers', async () => {
  const { memory, options, scope } = await setUp();
  const from = START - 600_000;
  const clock = jest.spyOn(Date, 'now');
  // Appended earlier by the brokers' clock, and accepted after `from` by that of ingest.
  for (const appendedAt of [from - 60_000, from - 9_000, from]) {
    clock.mockReturnValue(appendedAt);
    memory.append([{ topic: 'messages', key: null, value: '{}' }]);
  }
  clock.mockRestore();
  const replays = new Replays({ ...options, isOnlyProcess: true });
  const wanted = {
    scope: { ...scope, origin: 'messages' as const, from },
    preview: true,
    maxPerSecond: 1_000,
  };
  const { places } = await replays.start(wanted, 'rpl_2');
  await replays.stop();
  expect(places).toMatchObject([{ partition: 0, low: 1 }]);
});

test('a process stopped before it asks retry to cancel asks for nothing afterwards', async () => {
  const { memory, world, options } = await setUp();
  const wanted = { destination: 'dst_1', action: 'cancel', maxPerSecond: null } as const;
  const job: Job = {
    ...newRecallJob(wanted, { id: 'rpl_2', now: new Date(START) }),
    recall: { requested: false, next: 0, searched: [], of: 0 },
  };
  const leased = new LeasedJob(job, options);
  // The notes of retry are read: the process stops, and another one takes the job over. What waits
  // when it goes on is not what the user cancelled.
  world.onTime = () => {
    world.steadyMs += 20_000;
    world.isOwner = false;
  };
  await new RecallRun(leased, options).toEnd();
  expect([leased.lost, memory.records('webhooks.recalls')]).toEqual([true, []]);
});
