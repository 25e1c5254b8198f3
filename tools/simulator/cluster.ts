import { Requeuer } from '../../services/retry/requeuer';
import { Recalls } from '../../services/retry/recalls';
import { type OutRecord } from '../../shared/kafka/port';
import { parkTiers } from '../../shared/model/schedule';
import { ATTEMPTS, DEAD, DUE, RECALLS, tierTopic, WEBHOOKS } from '../../shared/kafka/topics';
import { createLog } from '../../shared/telemetry/log';
import { type Agenda } from './virtual-clock';
import { SimulatedAppender } from './batch-producer';
import { type Book } from './delivery-audit';
import { type Settings } from './delivery-process';
import { type Figures } from './figures';
import { PartitionLog } from './log';
import { EPOCH_MS, ProcessTime } from './process-time';
import { Reader } from './reader';

/**
 * All topics, and the retry service that returns waiting deliveries from tiers: production code
 * here too.
 */

/** Bodies have one size, 1 KB. */
const BODY = Buffer.alloc(1_024, 'x');
/** Records of one fetch, and the time until a waiting reader has them, ms. */
const FETCHED = 1_000;
const FETCHED_MS = 2;

interface Around {
  agenda: Agenda;
  book: Book;
  figures: Figures;
  settings: Settings;
}

export class Cluster {
  /** by topic and partition */
  readonly #logs = new Map<string, PartitionLog>();
  readonly #wake = new Map<PartitionLog, (log: PartitionLog) => void>();
  readonly #partitions: ReadonlySet<number>;
  #recalls: Recalls | undefined;

  /** @param partitions of the simulated processes */
  constructor(
    private readonly around: Around,
    partitions: readonly number[],
    readonly partitionOf: (key: string) => number,
  ) {
    this.#partitions = new Set(partitions);
    const tiers = parkTiers(around.settings.tiersMs).map(tierTopic);
    for (const topic of [WEBHOOKS, DUE, ...tiers]) {
      for (const number of partitions) {
        this.#logs.set(nameOf(topic, number), new PartitionLog(topic, number, BODY));
      }
    }
    this.#startRetry(
      tiers.flatMap((topic) => partitions.map((number) => this.#log(topic, number))),
    );
  }

  has(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /**
   * Returns the partitions of a delivery process.
   * @param wake called after an append
   */
  ofDelivery(stripes: readonly number[], wake: (log: PartitionLog) => void): PartitionLog[] {
    const logs = [WEBHOOKS, DUE].flatMap((topic) =>
      stripes.map((number) => this.#log(topic, number)),
    );
    for (const log of logs) this.#wake.set(log, wake);
    return logs;
  }

  append(topic: string, partition: number, record: Pick<OutRecord, 'key' | 'headers'>): void {
    const log = this.#log(topic, partition);
    log.append(record, EPOCH_MS + this.around.agenda.now);
    this.#wake.get(log)?.(log);
  }

  /** Stores the appends of processes. */
  store(records: OutRecord[]): void {
    const { agenda, book, figures } = this.around;
    figures.count('appends', records.length);
    figures.course('appends').add(agenda.now, records.length);
    for (const record of records) {
      if (record.topic !== RECALLS) book.written(record, agenda.now);
      const { topic, key } = record;
      if (topic === RECALLS) this.#recalled(record);
      else if (topic !== ATTEMPTS && topic !== DEAD) {
        this.append(topic, this.partitionOf(key ?? ''), record);
      }
    }
  }

  #startRetry(logs: PartitionLog[]): void {
    const { agenda, book } = this.around;
    const time = new ProcessTime(agenda);
    const producer = new SimulatedAppender(time, agenda, (records) => this.store(records));
    const recalls = (this.#recalls = this.#openRecalls(time, logs, producer));
    const returner = new Requeuer({
      producer,
      recalls,
      now: () => time.wallMs(),
      brokersNow: () => time.wallMs(),
      steadyMs: () => time.steadyMs(),
      onRoom: () => reader.resume(),
    });
    const reader: Reader = new Reader(time, logs, (record) => {
      const taken: { done?: () => void; early?: true } = {};
      const done = () => {
        if (taken.done) taken.done();
        else taken.early = true;
      };
      const dropped = recalls.dropped;
      const verdict = returner.onRecord({ ...record, done });
      if (verdict === 'accepted' && recalls.dropped === dropped) {
        taken.done = book.taken(record.headers.delivery ?? '');
      }
      if (taken.early) taken.done?.();
      return verdict;
    });
    for (const log of logs) this.#wake.set(log, (each) => reader.wake(each));
  }

  /** The copies of a recall count as taken from their tier when they are written. */
  #openRecalls(
    time: ProcessTime,
    logs: readonly PartitionLog[],
    appender: SimulatedAppender,
  ): Recalls {
    const { agenda, book } = this.around;
    const read = (topic: string, partition: number) => this.#log(topic, partition);
    const producer = appender.hearing((records) => {
      for (const { topic, headers } of records) {
        if (topic === DUE) book.taken(headers?.delivery ?? '');
      }
    });
    const recalls = new Recalls({
      kafka: {
        read: ({ topic, partition, offset }) => {
          const log = read(topic, partition);
          const records = log.peek(offset, FETCHED);
          const next = (records.at(-1)?.offset ?? offset - 1) + 1;
          return Promise.resolve({
            records,
            next,
            end: log.bounds.high,
            gone: offset < log.bounds.low,
          });
        },
        ranges: (topic) =>
          Promise.resolve(
            [...this.#partitions].map((partition) => ({
              partition,
              ...read(topic, partition).bounds,
            })),
          ),
        committed: () => Promise.resolve([]),
      },
      producer,
      tiers: () => [...new Set(logs.map(({ topic }) => topic))],
      completeAt: () => Infinity,
      expectSoon: () => undefined,
      now: () => time.wallMs(),
      steadyMs: () => time.steadyMs(),
      sleep: (ms) => new Promise((resolve) => agenda.in(ms, resolve)),
      keepMs: Infinity,
      log: createLog('simulator', 'silent'),
    });
    recalls.positions.onAssigned(this.#partitions);
    recalls.start();
    return recalls;
  }

  /** A record of `webhooks.recalls` reaches the retry process. */
  #recalled({ value }: OutRecord): void {
    const record = {
      topic: RECALLS,
      partition: 0,
      offset: 0,
      key: null,
      headers: {},
    };
    const { agenda } = this.around;
    const timestampMs = EPOCH_MS + agenda.now;
    agenda.in(FETCHED_MS, () =>
      this.#recalls?.onRecall({ ...record, value: Buffer.from(String(value)), timestampMs }),
    );
  }

  #log(topic: string, partition: number): PartitionLog {
    const log = this.#logs.get(nameOf(topic, partition));
    if (!log) throw new Error(`nobody reads partition ${String(partition)} of ${topic}`);
    return log;
  }
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${String(partition)}`;
}
