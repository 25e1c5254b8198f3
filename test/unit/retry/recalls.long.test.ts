import { Requeuer } from '../../../services/retry/requeuer';
import { defined } from '../../../shared/collections/defined';
import { Recalls } from '../../../services/retry/recalls';
import { createStepDedup } from '../../../shared/model/dedup-window';
import { encodeDelivery } from '../../../shared/model/delivery';
import { type Predicate, type Recall } from '../../../shared/model/recall';
import { type OpenRecord, type OutRecord } from '../../../shared/kafka/port';
import { partitionOf } from '../../../shared/kafka/protocol/bytes';
import { DUE, RECALLS, tierDelayMs, tierTopic } from '../../../shared/kafka/topics';
import { createLog } from '../../../shared/telemetry/log';
import { type Random, randomOf } from '../../../tools/harness/random';
import { Agenda } from '../../../tools/simulator/virtual-clock';
import { fewerCases, seedOf } from '../../support/cases';
import { aDelivery, aRecord } from '../../support/factories';

/**
 * Retry processes that recall, return, die and start again at random, in virtual time. Behind them
 * stands delivery, which drops the second record of a step and never crashes here.
 */

const PARTITIONS = 3;
const TIERS_MS = [2_000, 5_000, 9_000];
const KEEP_MS = 86_400_000;
const START = 1_700_000_000_000;
const COMMIT_MS = 100;
const ACK_MS = 5;

interface Stored extends OutRecord {
  offset: number;
  timestampMs: number;
}

class Broker {
  readonly agenda = new Agenda();
  readonly logs = new Map<string, Stored[]>();
  readonly committed = new Map<string, number>();
  /** copies that delivery takes, by step */
  readonly delivered: string[] = [];
  readonly #steps = createStepDedup();
  readonly onAppend = new Set<(topic: string, partition: number, record: Stored) => void>();
  /** pages that searches read, and the begin of each search */
  reads = 0;
  searches = 0;
  /** lets the process lose all partitions and get them back */
  rebalance: () => void = () => undefined;

  get now(): number {
    return START + this.agenda.now;
  }

  log(topic: string, partition: number): Stored[] {
    const name = `${topic}/${partition}`;
    let log = this.logs.get(name);
    if (!log) this.logs.set(name, (log = []));
    return log;
  }

  append(record: OutRecord): void {
    const partition = record.topic === RECALLS ? 0 : partitionOf(record.key ?? '', PARTITIONS);
    const log = this.log(record.topic, partition);
    const stored = { ...record, offset: log.length, timestampMs: this.now };
    log.push(stored);
    for (const hear of this.onAppend) hear(record.topic, partition, stored);
    if (record.topic !== DUE) return;
    const step = { topic: DUE, partition, offset: stored.offset, headers: record.headers ?? {} };
    const { delivery, hop } = record.headers ?? {};
    if (!this.#steps.isDuplicateStep(step, this.now)) this.delivered.push(`${delivery}.${hop}`);
  }
}

/** One retry process. `kill` is SIGKILL: what it has handed to Kafka may still be written. */
class RetryProcess {
  readonly #recalls: Recalls;
  readonly #returner: Requeuer;
  readonly #positions = new Map<string, number>();
  readonly #done = new Map<string, Set<number>>();
  #alive = true;
  readonly hears: (topic: string, partition: number, record: Stored) => void;

  constructor(
    private readonly broker: Broker,
    private readonly random: Random,
    tiersMs = TIERS_MS,
  ) {
    const { agenda } = broker;
    const tiers = tiersMs.map(tierTopic);
    const producer = {
      pendingBytes: 0,
      oldestPendingAt: undefined,
      close: () => Promise.resolve(),
      send: (records: OutRecord[]) =>
        new Promise<void>((resolve) => {
          if (!this.#alive) return;
          const tookMs = random.between(1, 3 * ACK_MS);
          agenda.in(tookMs, () => {
            for (const record of records) broker.append(record);
          });
          agenda.in(tookMs + random.between(0, ACK_MS), () => this.#alive && resolve());
        }),
    };
    this.#recalls = new Recalls({
      kafka: {
        read: ({ topic, partition, offset, maxBytes }) => {
          broker.reads++;
          const most = Math.max(1, Math.floor(maxBytes / 100_000));
          const log = broker.log(topic, partition);
          const records = log
            .slice(offset, offset + most)
            .map((each) => inRecord(topic, partition, each));
          const next = offset + records.length;
          return later(agenda, 1, () => ({ records, next, end: log.length, gone: false, era: '' }));
        },
        ranges: (topic) => {
          if (topic === tiers[0]) broker.searches++;
          return later(agenda, 1, () =>
            Array.from({ length: PARTITIONS }, (_, partition) => ({
              partition,
              low: 0,
              high: broker.log(topic, partition).length,
            })),
          );
        },
        committed: (_, topic) =>
          later(agenda, 1, () =>
            Array.from(
              { length: PARTITIONS },
              (_, n) => broker.committed.get(`${topic}/${n}`) ?? 0,
            ),
          ),
      },
      producer,
      tiers: () => tiers,
      completeAt: () => Infinity,
      expectSoon: () => undefined,
      now: () => broker.now,
      steadyMs: () => agenda.now,
      sleep: (ms) => new Promise((resolve) => agenda.in(ms, () => this.#alive && resolve())),
      keepMs: KEEP_MS,
      log: createLog('test', 'silent'),
    });
    broker.rebalance = () => {
      const { positions } = this.#recalls;
      const all = positions.owned;
      positions.onLost();
      positions.onAssigned(all);
    };
    for (const record of broker.log(RECALLS, 0)) {
      this.#recalls.onRecall(inRecord(RECALLS, 0, record));
    }
    this.hears = (topic, partition, record) => {
      if (topic === RECALLS && this.#alive) {
        this.#recalls.onRecall(inRecord(topic, partition, record));
      }
    };
    broker.onAppend.add(this.hears);
    this.#returner = new Requeuer({
      producer,
      recalls: this.#recalls,
      clock: { now: () => broker.now, brokersNow: () => broker.now, isInDoubt: false },
      steadyMs: () => broker.now,
      onRoom: () => undefined,
      log: createLog('test', 'silent'),
    });
    this.#recalls.positions.onAssigned(new Set(Array.from({ length: PARTITIONS }, (_, n) => n)));
    this.#recalls.start();
    for (const topic of tiers) for (let n = 0; n < PARTITIONS; n++) this.#read(topic, n);
    this.#commit();
  }

  kill(): void {
    this.#alive = false;
    this.broker.onAppend.delete(this.hears);
  }

  #read(topic: string, partition: number): void {
    if (!this.#alive) return;
    const { agenda, committed } = this.broker;
    const name = `${topic}/${partition}`;
    const at = this.#positions.get(name) ?? committed.get(name) ?? 0;
    const stored = this.broker.log(topic, partition)[at];
    const again = (ms: number) => agenda.in(ms, () => this.#read(topic, partition));
    if (!stored) return again(20);
    const done = () => {
      let finished = this.#done.get(name);
      if (!finished) this.#done.set(name, (finished = new Set()));
      finished.add(stored.offset);
    };
    const result = this.#returner.onRecord({ ...inRecord(topic, partition, stored), done });
    if (result !== 'accepted') return again(typeof result === 'object' ? result.againInMs : 10);
    this.#positions.set(name, at + 1);
    again(this.random.between(0, 2));
  }

  /** Commits up to the lowest open record. */
  #commit(): void {
    if (!this.#alive) return;
    const { committed, agenda } = this.broker;
    for (const [name, done] of this.#done) {
      let next = committed.get(name) ?? 0;
      while (done.delete(next)) next++;
      committed.set(name, next);
    }
    agenda.in(COMMIT_MS, () => this.#commit());
  }
}

function later<T>(agenda: Agenda, ms: number, read: () => T): Promise<T> {
  return new Promise((resolve) => agenda.in(ms, () => resolve(read())));
}

function inRecord(topic: string, partition: number, stored: Stored): OpenRecord {
  const { offset, timestampMs, key, value, headers = {} } = stored;
  const bytes = (text: Buffer | string | null) => (text === null ? null : Buffer.from(text));
  return aRecord({
    topic,
    partition,
    offset,
    timestampMs,
    headers,
    key: bytes(key),
    value: bytes(value),
  });
}

/** The times of a delivery that waits after its first attempt. */
const WAITED = { acceptedAt: START, expiresAt: START + 3_600_000, attempt: 1, hop: 1 };

/** Puts a delivery into a tier. */
function park(broker: Broker, number: number, destination: string, random: Random): void {
  const delivery = aDelivery({
    id: `dlv_${number}`,
    messageId: `msg_${number}`,
    destinationId: destination,
    acceptedAt: broker.now,
    expiresAt: broker.now + 3_600_000,
    attempt: 1,
    hop: random.between(1, 3),
    reason: random.one(['circuit_open', 'backoff']),
  });
  const key = `${destination}:${number % 4}`;
  const tier = random.one(TIERS_MS);
  broker.append({
    topic: tierTopic(tier),
    key,
    value: `body ${number}`,
    headers: encodeDelivery(delivery),
  });
}

function request(
  broker: Broker,
  { destination, delivery, ...recall }: Omit<Recall, 'kind' | 'keys' | 'where'> & Predicate,
): void {
  const keys = Array.from({ length: 4 }, (_, i) => `${destination}:${i}`);
  const waits: Predicate =
    recall.action === 'recovered' || recall.action === 'probe' ? { reason: 'circuit_open' } : {};
  const where = { ...waits, ...defined({ destination, delivery }) };
  const value = JSON.stringify({ kind: 'recall', keys, where, ...recall } satisfies Recall);
  broker.append({ topic: RECALLS, key: recall.id, value });
}

const stepsIn = (broker: Broker) =>
  [...broker.logs]
    .filter(([name]) => tierDelayMs(name.split('/')[0]!) !== undefined)
    .flatMap(([, log]) => log.map(({ headers }) => `${headers!.delivery}.${headers!.hop}`));

/** `RECALLS_SEED=n` begins with that seed. */
const FIRST = seedOf('RECALLS_SEED');

test.each(Array.from({ length: fewerCases(60) }, (_, i) => FIRST + i))(
  'with random recalls and kills, each delivery comes to delivery exactly once (seed %i)',
  async (seed) => {
    const random = randomOf(seed);
    const broker = new Broker();
    const { agenda } = broker;
    let process = new RetryProcess(broker, random);
    for (let i = 0; i < 300; i++) {
      agenda.at(random.between(0, 8_000), () => park(broker, i, `dst_${i % 3}`, random));
    }
    for (let i = 0; i < 12; i++) {
      const action = random.one(['retry', 'retry_all', 'recovered', 'probe', 'cancel'] as const);
      const number = random.between(0, 299);
      const one = action === 'retry' || random.between(0, 3) === 0;
      const delivery = one && { delivery: { id: `dlv_${number}`, replay: 0, attempt: 1 } };
      const id = `rcl_${i}`;
      agenda.at(random.between(500, 12_000), () =>
        request(broker, { id, action, destination: `dst_${number % 3}`, ...delivery }),
      );
    }
    for (let i = random.between(0, 4); i > 0; i--) {
      agenda.at(random.between(500, 12_000), () => {
        process.kill();
        agenda.in(random.between(1, 300), () => (process = new RetryProcess(broker, random)));
      });
    }
    await agenda.run(60_000);
    expect(broker.delivered.toSorted()).toEqual(stepsIn(broker).toSorted());
    process.kill();
  },
);

/**
 * Lets 60 deliveries wait for 9 s, and runs `act` after a second. @returns when each came to
 * delivery, ms
 */
async function recalled(act: (broker: Broker) => void, forMs = 4_000) {
  const random = randomOf(1);
  const broker = new Broker();
  const process = new RetryProcess(broker, random);
  for (let i = 0; i < 60; i++) {
    const reason = i % 2 === 0 ? 'circuit_open' : 'backoff';
    const ids = { id: `dlv_${i}`, messageId: `m${i}`, destinationId: `dst_${i % 3}` };
    const headers = encodeDelivery(aDelivery({ ...ids, ...WAITED, reason }));
    broker.append({
      topic: tierTopic(9_000),
      key: `dst_${i % 3}:${i % 4}`,
      value: 'body',
      headers,
    });
  }
  broker.agenda.at(1_000, () => act(broker));
  await broker.agenda.run(forMs);
  process.kill();
  const copies = [...broker.logs]
    .filter(([name]) => name.startsWith(`${DUE}/`))
    .flatMap(([, log]) => log);
  return copies.map(({ headers }) => headers!);
}

test("within a second a retry copies a delivery's record with its step and a mark", async () => {
  const delivery = { id: 'dlv_7', replay: 0, attempt: 1 };
  const copies = await recalled(
    (broker) => request(broker, { id: 'r', action: 'retry', destination: 'dst_1', delivery }),
    2_000,
  );
  expect(copies).toEqual([
    expect.objectContaining({ delivery: 'dlv_7', attempt: '1', hop: '1', recalled: 'retry' }),
  ]);
});

test('a retry of all copies all records of the destination, and no other', async () => {
  const copies = await recalled((broker) =>
    request(broker, { id: 'r', action: 'retry_all', destination: 'dst_1' }),
  );
  expect(copies).toHaveLength(20);
  expect(
    copies.every(
      ({ destination, recalled: mark }) => destination === 'dst_1' && mark === 'retry_all',
    ),
  ).toBe(true);
});

test('a recovered endpoint gets parked deliveries back, and retries keep the plan', async () => {
  const copies = await recalled((broker) =>
    request(broker, { id: 'r', action: 'recovered', destination: 'dst_2' }),
  );
  expect(copies).toHaveLength(10);
  expect(copies.every(({ reason }) => reason === 'circuit_open')).toBe(true);
});

test('a stopped recall takes nothing more', async () => {
  const copies = await recalled((broker) => {
    request(broker, { id: 'r', action: 'retry_all', destination: 'dst_1', maxPerSecond: 2 });
    broker.append({
      topic: RECALLS,
      key: 'dst_1',
      value: JSON.stringify({ kind: 'stop', recall: 'r' }),
    });
  });
  expect(copies.length).toBeLessThan(3);
});

test('a cancellation of all also takes what enters a tier after all was searched', async () => {
  const copies = await recalled((broker) => {
    request(broker, {
      id: 'r',
      action: 'cancel',
      destination: 'dst_1',
      expiresBy: START + 3_600_000,
    });
    const headers = encodeDelivery(aDelivery({ id: 'dlv_late', ...WAITED }));
    const park = () =>
      broker.append({ topic: tierTopic(9_000), key: 'dst_1:1', value: 'body', headers });
    broker.agenda.in(2_000, park);
  }, 5_000);
  expect(
    copies.filter(({ delivery, recalled: mark }) => delivery === 'dlv_late' && mark === 'cancel'),
  ).toHaveLength(1);
});

test('of a delivery that a user both sends and cancels, the copy is cancelled', async () => {
  const delivery = { id: 'dlv_7', replay: 0, attempt: 1 };
  const copies = await recalled((broker) => {
    // The two wait for the search for this one.
    const other = { ...delivery, id: 'dlv_none' };
    request(broker, { id: 'o', action: 'retry', destination: 'dst_1', delivery: other });
    request(broker, { id: 'r', action: 'retry', destination: 'dst_1', delivery });
    request(broker, { id: 'c', action: 'cancel', destination: 'dst_1', delivery });
  });
  expect(copies.map(({ recalled: mark }) => mark)).toEqual(['cancel']);
});

test('endpoints that recover at once share few searches, and all get deliveries', async () => {
  let reads = 0;
  const copies = await recalled((broker) => {
    reads = broker.reads;
    for (let i = 0; i < 100; i++) {
      request(broker, { id: `r${i}`, action: 'recovered', destination: `dst_${i % 3}` });
    }
    broker.agenda.in(2_900, () => (reads = broker.reads - reads));
  });
  expect(copies).toHaveLength(30);
  // Each search reads the partitions of three tiers, a page or two each.
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(5 * PARTITIONS * TIERS_MS.length * 4);
});

test('a search ends where its partition was lost, though the partition comes back', async () => {
  let lost = -1;
  const copies = await recalled((broker) => {
    request(broker, { id: 'r', action: 'retry_all', destination: 'dst_1', maxPerSecond: 2 });
    broker.agenda.in(500, () => {
      broker.rebalance();
      lost = broker.searches;
    });
    broker.agenda.in(2_000, () => (lost = broker.searches - lost));
  });
  // It begins again, from the notes of the session before.
  expect(lost).toBe(1);
  expect(new Set(copies.map(({ delivery }) => delivery)).size).toBe(copies.length);
});

test('with an open circuit, one of its deliveries returns each minute, then seldom', async () => {
  const random = randomOf(1);
  const broker = new Broker();
  const process = new RetryProcess(broker, random, [1_800_000]);
  for (let i = 0; i < 60; i++) {
    const ids = { id: `dlv_${i}`, messageId: `m${i}`, destinationId: 'dst' };
    const headers = encodeDelivery(aDelivery({ ...ids, ...WAITED, reason: 'circuit_open' }));
    broker.append({ topic: tierTopic(1_800_000), key: `dst:${i % 4}`, value: 'body', headers });
  }
  broker.agenda.at(1_000, () => request(broker, { id: 'p', action: 'probe', destination: 'dst' }));
  const cameAt: number[] = [];
  broker.onAppend.add((topic, _, { headers, timestampMs }) => {
    if (topic !== DUE) return;
    expect(headers).toMatchObject({ recalled: 'probe' });
    cameAt.push(timestampMs - START);
  });
  await broker.agenda.run(1_700_000);
  process.kill();
  expect(cameAt[0]).toBeLessThan(2_000);
  for (const [i, at] of cameAt.entries()) {
    const next = cameAt[i + 1];
    if (next === undefined) continue;
    expect(next - at).toBeLessThan(at < 900_000 ? 60_000 : 300_000);
    expect(next - at).toBeGreaterThan(at < 880_000 ? 40_000 : 240_000);
  }
  expect(cameAt.at(-1)).toBeGreaterThan(1_400_000);
});
