import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Definitions, ofAudience, ofTrait } from '../../../services/audiences/definitions/compile';
import { type PartitionProcessor } from '../../../services/audiences/profiles/partition-processor';
import { type PartitionState } from '../../../services/audiences/profiles/partition-state';
import { changelogRecords } from '../../../services/audiences/profiles/write-step';
import { encodeEvent, type Incoming } from '../../../services/audiences/repartition/event';
import { type Fetched, type InRecord, type ReadAt } from '../../../shared/kafka/port';
import { AppError } from '../../../shared/runtime/errors';
import { metrics } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';
import { eventually } from '../../support/eventually';
import { anAudience, aRecord } from '../../support/factories';
import { memoryLog, type MemoryLog } from '../../support/memory-log';
import { engineUnderTest, identify, NOW } from './engine-under-test';
import { processorUnderTest } from './processor-under-test';

/** Profiles whose logs lose records that were read, and get others in their places. */

const EVENTS = 'profiles.events';
const CHANGELOG = 'profiles';
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}-${String(i)}`);

describe('a partition', () => {
  const opened: PartitionProcessor[] = [];
  let path: string;
  let memory: MemoryLog;
  let nowMs: number;
  let definitions: Definitions;
  /** the producer waits for it */
  let unblocked: Promise<void>;
  /** reads below a known end that found no record */
  let failedReads: number;
  /** as a request whose answer was lost */
  let writesTwice: boolean;
  beforeEach(() => {
    definitions = new Definitions([]);
    unblocked = Promise.resolve();
    failedReads = 0;
    writesTwice = false;
    path = mkdtempSync(join(tmpdir(), 'waypost-cut-'));
    memory = memoryLog();
    nowMs = Date.now();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(close));
    rmSync(path, { recursive: true });
  });

  async function open(): Promise<PartitionProcessor> {
    const producer = await memory.kafka.producer({
      maxPendingBytes: 1,
      deliveryTimeoutMs: 'retry',
    });
    const processor = processorUnderTest({
      kafka: memory.kafka,
      tryingKafka: { ...memory.kafka, read },
      producer: {
        ...producer,
        send: async (records) => {
          await unblocked;
          if (writesTwice) await producer.send(records);
          return producer.send(records);
        },
      },
      path,
      definitions: () => definitions,
      now: () => nowMs,
    });
    opened.push(processor);
    await eventually(() => expect(processor.report()).toBeDefined());
    return processor;
  }

  /** As Kafka, it never takes an empty response below a known end for the end. */
  function read(at: ReadAt): Promise<Fetched> {
    const { length } = memory.records(at.topic);
    if (at.until === undefined || at.offset >= at.until || at.offset < length) {
      return memory.kafka.read(at);
    }
    failedReads++;
    return Promise.reject(new AppError('kafka_unavailable', 'no record', true));
  }

  async function close(processor: PartitionProcessor): Promise<void> {
    processor.close({ lost: false });
    await processor.closed;
  }

  function append(users: readonly string[]): void {
    const encoded = encodeEvent(identify({ plan: 'pro' }));
    memory.append(users.map((key) => ({ topic: EVENTS, key, ...encoded })));
  }

  /** Offers the records from an offset on, as the consumer does. */
  async function consume(processor: PartitionProcessor, from: number): Promise<void> {
    await offer(processor, memory.records(EVENTS).slice(from));
    await eventually(() => expect(processor.queued).toBe(0));
  }

  async function offer(processor: PartitionProcessor, records: readonly InRecord[]): Promise<void> {
    for (const record of records) {
      await eventually(() => expect(processor.offer(copyOf(record))).toBe('accepted'));
    }
  }

  const missing = (processor: PartitionProcessor, users: readonly string[]) =>
    users.filter((user) => !processor.snapshot!.store.get(user));

  const lost = numbered('lost', 10);
  const after = numbered('after', 20);

  test.each([
    ['runs', 5],
    ['runs', 0],
    ['is opened again', 5],
    ['is opened again', 0],
  ])('counts what was appended since, while it %s and %s records are left', async (how, left) => {
    append(lost);
    let processor = await open();
    await consume(processor, 0);
    if (how === 'is opened again') await close(processor);
    memory.cut(EVENTS, left);
    append(after);
    if (how === 'is opened again') processor = await open();
    await consume(processor, left);
    await eventually(() => expect(missing(processor, after)).toEqual([]));
    expect(processor.snapshot!.next).toBe(left + after.length);
    // What was counted stays.
    expect(missing(processor, lost)).toEqual([]);
  });

  describe('with an upload whose end is cut off', () => {
    let processor: PartitionProcessor;
    let old: InRecord[];
    beforeEach(async () => {
      definitions = new Definitions([ofAudience(AUDIENCE, () => undefined)]);
      processor = await open();
      await eventually(() => expect(stateOf('aud_a')).toBeDefined());
      append(lost);
      memory.append([{ topic: EVENTS, key: 'aud_a', ...encodeEvent(UPLOADED) }]);
      old = memory.records(EVENTS);
    });

    const stateOf = (audience: string) => {
      const last = memory.records(CHANGELOG).findLast(({ key }) => String(key) === 'm');
      return last && (JSON.parse(String(last.value)) as PartitionState).defs[audience];
    };

    test('does not apply it if it is queued, behind a step that Kafka does not take', async () => {
      let unblock = (): void => undefined;
      unblocked = new Promise((resolve) => (unblock = resolve));
      await offer(processor, old);
      memory.cut(EVENTS, 5);
      append(after);
      processor.onRestart({ from: 5, wasCut: true });
      await offer(processor, memory.records(EVENTS).slice(5));
      unblock();
      await eventually(() => expect(processor.queued).toBe(0));
      await eventually(() => expect(processor.snapshot?.next).toBe(5 + after.length));
      expect(missing(processor, after)).toEqual([]);
      expect(stateOf('aud_a')).toMatchObject({ upload: 0 });
    });

    test('goes on if it reads the lines that were cut off', async () => {
      memory.cut(EVENTS, 5);
      await offer(processor, old);
      await eventually(() => expect(failedReads).toBeGreaterThan(0));
      append(after.slice(0, 2));
      processor.onRestart({ from: 5, wasCut: true });
      await consume(processor, 5);
      await eventually(() => expect(processor.snapshot?.next).toBe(7));
      expect(missing(processor, after.slice(0, 2))).toEqual([]);
      expect(stateOf('aud_a')).toMatchObject({ upload: 0 });
    });
  });

  // The profiles that were cut off are in no store but this one, and its next step says that their
  // events are counted.
  test.each(['while it runs', 'before it is opened again'])(
    'reads the events again whose profiles the changelog lost, %s',
    async (when) => {
      append(lost);
      let processor = await open();
      await consume(processor, 0);
      // The next step comes after a checkpoint.
      nowMs += 10_000;
      append(['checked']);
      await consume(processor, lost.length);
      await eventually(() => expect(processor.report()).toBeDefined());
      const kept = memory.records(CHANGELOG).length;
      append(['cut-off']);
      await consume(processor, lost.length + 1);
      memory.cut(CHANGELOG, kept);
      append(after.slice(0, 1));
      await consume(processor, lost.length + 2);
      if (when === 'while it runs') {
        const before = await cutOf(CHANGELOG);
        await eventually(async () => {
          nowMs += 10_000;
          expect(await cutOf(CHANGELOG)).toBeGreaterThan(before);
        });
      } else {
        await close(processor);
        processor = await open();
      }
      await eventually(() => expect(loggedUsers()).toContain('ucut-off'));
      expect(missing(processor, [...lost, 'checked', 'cut-off'])).toEqual([]);
    },
  );

  const loggedUsers = () => memory.records(CHANGELOG).map(({ key }) => key?.toString());

  test('keeps its store if a request was written twice', async () => {
    append(lost);
    const first = await open();
    await consume(first, 0);
    await close(first);
    const second = await open();
    writesTwice = true;
    append(after);
    await consume(second, lost.length);
    const counted = await cutOf(CHANGELOG);
    await close(second);
    const third = await open();
    expect(await cutOf(CHANGELOG)).toBe(counted);
    expect(missing(third, after)).toEqual([]);
  });

  test('builds its store anew if the changelog was cut, and has grown beyond it', async () => {
    append(lost);
    const first = await open();
    await consume(first, 0);
    await close(first);
    // The store is checked against the changelog when it is opened.
    const second = await open();
    await close(second);
    const before = memory.records(CHANGELOG).length;

    memory.cut(CHANGELOG, 3);
    const other = { traits: { s: { plan: ['pro', 1] as [string, number] } } };
    const profiles = new Map(numbered('other', before + 5).map((user) => [user, other]));
    const meta = { ...A_STEP.meta, term: nowMs + 1_000 };
    memory.append(changelogRecords({ ...A_STEP, profiles, meta }, 0));
    const counted = await cutOf(CHANGELOG);
    const third = await open();
    expect(missing(third, [...profiles.keys()])).toEqual([]);
    expect((await cutOf(CHANGELOG)) - counted).toBe(before - 3);
  });
});

const AUDIENCE = anAudience({
  id: 'aud_a',
  condition: 'user.traits.plan == "pro"',
});

const UPLOADED = {
  kind: 'uploaded' as const,
  audience: 'aud_a',
  upload: 'upl_1',
  number: 1,
  full: true,
  from: 0,
};

/** A step without changes. */
const A_STEP = engineUnderTest().apply('ann');

async function cutOf(topic: string): Promise<number> {
  const name = `waypost_log_cut_total{group="audiences-profiles",topic="${topic}"} `;
  const line = (await renderMetrics(metrics)).split('\n').find((each) => each.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
}

/** A record as the consumer offers it. */
function copyOf({ topic, offset, epoch, timestampMs, key, value, headers }: InRecord) {
  return aRecord({ topic, offset, epoch, timestampMs, key, value, headers });
}

describe('a counter', () => {
  const about = { name: 'x', key: 'x', source: 's', syncEveryMs: 1, revision: 1, history: [] };
  const trait = { ...about, createdAt: '', updatedAt: '', compute: 'count' as const };
  const buys = ofTrait({ ...trait, id: 'trt_buys', event: 'Buy' });
  const late = ofTrait({ ...trait, id: 'trt_late', event: 'Buy' });

  const bought = (offset: number, epoch: number): Incoming => ({
    offset,
    epoch,
    timestamp: NOW + epoch * 1_000,
    user: 'ann',
    origin: undefined,
    event: { kind: 'track', source: 's', event: 'Buy', properties: {}, atMs: NOW },
  });
  const section = (from: number, to: number, epoch: number) =>
    Array.from({ length: to - from }, (_, i) => bought(from + i, epoch));

  test('counts the events since a cut, and each only once', () => {
    const { engine, store } = engineUnderTest(new Definitions([buys]));
    const value = () => buys.value(store.get('ann')!, NOW, 0);
    engine.commit(engine.apply(section(0, 10, 0), NOW));
    engine.commit(engine.apply(section(5, 12, 1), NOW));
    engine.commit(engine.apply(section(5, 12, 1), NOW));
    expect(value()).toBe(17);
    // A process that died after it wrote the profile, and before it wrote the cursor.
    const step = engine.apply(section(12, 14, 1), NOW);
    store.write({ ...step, meta: engine.meta });
    engine.commit(engine.apply(section(12, 15, 1), NOW));
    expect(value()).toBe(20);
  });

  test('of a new definition counts them too, also if it has read further than the cut', () => {
    const { engine, store } = engineUnderTest(new Definitions([buys]));
    const log = section(0, 10, 0);
    engine.commit(engine.apply(log, NOW));
    engine.commit(engine.adopt(new Definitions([buys, late]), NOW)!);
    engine.commit(engine.fill(log.slice(0, 8), false, NOW));
    engine.commit(engine.apply(section(5, 12, 1), NOW));
    const left = [...log.slice(0, 5), ...section(5, 12, 1)];
    engine.commit(engine.fill(left.slice(engine.meta.fill!.cursor.next), true, NOW));
    // The second reading had counted three events that were cut off then.
    expect(late.value(store.get('ann')!, NOW, 0)).toBe(8 + 7);
    expect(engine.meta.fill).toBeUndefined();
  });
});

test('a new definition starts although the log ends before its former end', () => {
  const definitions = new Definitions([ofAudience(AUDIENCE, () => undefined)]);
  const { engine, records } = engineUnderTest(new Definitions([]), { end: 10 });
  expect(engine.adopt(definitions, NOW)).toBeUndefined();
  engine.commit(engine.apply(records('ann', [identify({ plan: 'pro' }), identify({})]), NOW));
  const [replacing] = records('bob', [identify({ plan: 'pro' })]);
  engine.commit(engine.apply([{ ...replacing!, offset: 1, epoch: 1 }], NOW));
  expect(engine.adopt(definitions, NOW)).toBeDefined();
});

test('an upload whose end was cut off is not applied', () => {
  const { engine, records } = engineUnderTest();
  engine.commit(engine.apply(records('aud_a', [UPLOADED]), NOW));
  expect(engine.meta.uploads).toHaveLength(1);
  const [replacing] = records('bob', [identify({ plan: 'pro' })]);
  engine.commit(engine.apply([{ ...replacing!, offset: 0, epoch: 1 }], NOW));
  expect(engine.meta.uploads).toEqual([]);
});
