import { randomUUID } from 'node:crypto';
import {
  type BatchProducer,
  type Consumption,
  type InRecord,
  type Kafka,
  type OutRecord,
  type Tail,
  type TailOptions,
} from '../../shared/kafka/port';
import { AppError } from '../../shared/runtime/errors';

/**
 * An in-memory log behind the port of shared/kafka, for unit tests of code that reads and writes
 * topics: one partition a topic, and every record reaches the tails a moment after it was written.
 * It has no consumer groups.
 */
export interface MemoryLog {
  kafka: Kafka;
  /** Returns all records of a topic. */
  records(topic: string): InRecord[];
  /** Returns what compaction leaves: the last record of each key, in order. */
  compacted(topic: string): InRecord[];
  /** Appends records, as another process would. */
  append(records: OutRecord[]): void;
  /** Cuts the last records off a topic. Its tails start over a moment later. */
  cut(topic: string, length: number): void;
  /** Calls this after each write of a producer. */
  onAppend(listener: () => void): void;
  /** Makes writes fail with this error; undefined ends it. */
  failWith(error: Error | undefined): void;
  /** Refuses these records for good, as Kafka refuses one that is too large. */
  refuse(which: (record: OutRecord) => boolean): void;
}

interface MemoryTail extends TailOptions {
  position: number;
  completeAt: number;
}

export function memoryLog(initial: readonly InRecord[] = []): MemoryLog {
  const topics = new Map<string, InRecord[]>();
  const tails = new Set<MemoryTail>();
  /** of the leader, which is another one after a cut */
  let epoch = 0;
  let failure: Error | undefined;
  let isRefused: (record: OutRecord) => boolean = () => false;
  let appended = (): void => undefined;
  const waiting = new Set<() => void>();
  const topic = (name: string) => {
    const records = topics.get(name) ?? [];
    topics.set(name, records);
    return records;
  };
  for (const record of initial) topic(record.topic).push(record);

  const deliver = () => {
    for (const tail of tails) {
      const records = topic(tail.topic);
      while (tail.position < records.length) tail.onRecord(records[tail.position++]!);
      tail.completeAt = performance.now();
      tail.onComplete?.();
    }
  };
  const append = (records: OutRecord[]) => {
    for (const out of records) {
      topic(out.topic).push(new MemoryRecord(out, topic(out.topic).length, epoch));
    }
    setImmediate(deliver);
    for (const wake of waiting) wake();
  };
  const appendedWithin = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      waiting.add(end);
    });
  const kafka: Kafka = {
    setRetention: () => Promise.resolve(),
    producer: (): Promise<BatchProducer> =>
      Promise.resolve({
        send: (records: OutRecord[]) => {
          if (failure) return Promise.reject(failure);
          if (records.some(isRefused)) {
            return Promise.reject(new AppError('kafka_refused', 'a record is too large'));
          }
          append(records);
          appended();
          return Promise.resolve();
        },
        pendingBytes: 0,
        oldestPendingAt: undefined,
        close: () => Promise.resolve(),
      }),
    tail: (options: TailOptions): Promise<Tail> => {
      const position = options.from === 'beginning' ? 0 : topic(options.topic).length;
      const tail: MemoryTail = { ...options, position, completeAt: -Infinity };
      tails.add(tail);
      return Promise.resolve({
        caughtUp: () =>
          new Promise<void>((resolve) => {
            setImmediate(() => {
              deliver();
              resolve();
            });
          }),
        get completeAt() {
          return tail.completeAt;
        },
        expectSoon: () => undefined,
        stuck: () => undefined,
        stop: () => {
          tails.delete(tail);
          return Promise.resolve();
        },
      });
    },
    read: async ({ topic: name, offset, maxBytes, waitMs }) => {
      const all = topic(name);
      if (waitMs !== undefined && offset === all.length) await appendedWithin(waitMs);
      let bytes = 0;
      const records = all
        .slice(offset)
        .filter((record, i) => (bytes += record.value?.length ?? 0) <= maxBytes || i === 0);
      return {
        records,
        next: offset + records.length,
        end: all.length,
        gone: offset > all.length,
        era: String(epoch),
      };
    },
    ranges: (name, sinceMs = 0) => {
      const all = topic(name);
      const found = all.findIndex(({ timestampMs }) => timestampMs >= sinceMs);
      return Promise.resolve([
        { partition: 0, low: found < 0 ? all.length : found, high: all.length },
      ]);
    },
    committed: () => Promise.resolve([]),
    consume: () => Promise.reject(new Error('a memory log has no groups')),
    listTopics: () => Promise.resolve([...topics.keys()]),
    close: () => Promise.resolve(),
  };
  return {
    kafka,
    append,
    cut: (name, length) => {
      topic(name).splice(length);
      epoch++;
      for (const tail of tails) {
        if (tail.topic !== name) continue;
        tail.position = 0;
        tail.onStartOver?.();
      }
      setImmediate(deliver);
    },
    records: (name) => [...topic(name)],
    compacted: (name) => {
      const last = new Map(
        topic(name).map((record, i) => [record.key?.toString() ?? randomUUID(), i]),
      );
      return topic(name).filter((_, i) => [...last.values()].includes(i));
    },
    onAppend: (listener) => (appended = listener),
    failWith: (error) => (failure = error),
    refuse: (which) => (isRefused = which),
  };
}

/** The consumption of a group that gets no partition. */
export const NOTHING_CONSUMED: Consumption = {
  resume: () => undefined,
  readDeferred: () => undefined,
  deferred: 0,
  stuck: () => undefined,
  joined: true,
  open: 0,
  owns: () => true,
  stop: () => Promise.resolve(),
};

/** As the records of tails and reads: most of its parts are getters, which no copy has. */
class MemoryRecord implements InRecord {
  readonly #timestampMs = Date.now();

  constructor(
    private readonly out: OutRecord,
    readonly offset: number,
    readonly epoch: number,
  ) {}

  get topic(): string {
    return this.out.topic;
  }
  get partition(): number {
    return 0;
  }
  get timestampMs(): number {
    return this.#timestampMs;
  }
  get key(): Buffer | null {
    return this.out.key === null ? null : Buffer.from(this.out.key);
  }
  get value(): Buffer | null {
    return this.out.value === null ? null : Buffer.from(this.out.value);
  }
  get headers(): Record<string, string> {
    return this.out.headers ?? {};
  }
}
