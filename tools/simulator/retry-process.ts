import { Recalls } from '../../services/retry/recalls';
import { Requeuer } from '../../services/retry/requeuer';
import {
  type DispatchResult,
  type OpenRecord,
  type OutRecord,
  type Restart,
} from '../../shared/kafka/port';
import { clockNote, DUE } from '../../shared/kafka/topics';
import { createLog } from '../../shared/telemetry/log';
import { SimulatedAppender, type Store } from './batch-producer';
import { type Book } from './delivery-audit';
import { type PartitionLog } from './log';
import { ProcessTime } from './process-time';
import { Reader } from './reader';
import { type Agenda } from './virtual-clock';

/** One retry process: the production code that returns waiting deliveries from tiers. */

/** Records of one fetch, and the time until a waiting reader has them, ms. */
const FETCHED = 1_000;
const FETCHED_MS = 2;

interface Around {
  agenda: Agenda;
  book: Book;
  store: Store;
  tiers: readonly string[];
  /** all partitions of the tiers */
  logs: readonly PartitionLog[];
}

export class RetryProcess {
  readonly time: ProcessTime;
  readonly #recalls: Recalls;
  readonly #requeuer: Requeuer;
  readonly #reader: Reader;
  readonly #owned = new Set<number>();

  constructor(private readonly around: Around) {
    const time = (this.time = new ProcessTime(around.agenda));
    const producer = new SimulatedAppender(time, around.agenda, around.store);
    const recalls = (this.#recalls = this.#openRecalls(producer));
    this.#requeuer = new Requeuer({
      producer,
      recalls,
      clock: time.brokerClock,
      steadyMs: () => time.steadyMs(),
      onRoom: () => this.#reader.resume(),
      log: createLog('simulator', 'silent'),
    });
    this.#reader = new Reader(time, (record) => this.#take(record));
    recalls.start();
    // As at the start of the service: the timestamp shows the brokers' clock.
    void producer.send([clockNote()]);
  }

  /** Owns a partition of all tiers from now on. */
  take(partition: number, logs: readonly PartitionLog[]): void {
    this.#owned.add(partition);
    this.#recalls.positions.onAssigned(new Set(this.#owned));
    this.#reader.take(logs);
    // What the last owner has noted reaches it meanwhile.
    this.around.agenda.in(2 * FETCHED_MS + 1, () => this.#recalls.recheck());
  }

  /** Gives a partition up: it is released when nothing is open, and `isDraining` is false. */
  leave(partition: number, logs: readonly PartitionLog[]): void {
    this.#owned.delete(partition);
    this.#recalls.positions.onAssigned(new Set(this.#owned));
    this.#reader.leave(logs);
  }

  restarted(restart: Restart): void {
    this.#requeuer.onRestart(restart);
  }

  isDraining(partition: number): boolean {
    return this.#recalls.positions.isDraining(partition);
  }

  /** Receives a record of `webhooks.recalls`. */
  recalled({ key, value }: OutRecord, timestampMs: number): void {
    this.around.agenda.in(FETCHED_MS, () => {
      this.time.brokerClock.read(timestampMs);
      this.#recalls.onRecall({
        topic: '',
        partition: 0,
        offset: 0,
        epoch: 0,
        key: key === null ? null : Buffer.from(key),
        headers: {},
        value: Buffer.from(String(value)),
        timestampMs,
      });
    });
  }

  #take(record: OpenRecord): DispatchResult {
    const { book } = this.around;
    const finish = record.done.bind(record);
    const taken: { done?: () => void; early?: true } = {};
    record.done = () => {
      if (taken.done) taken.done();
      else taken.early = true;
      finish();
    };
    const { dropped } = this.#recalls;
    const verdict = this.#requeuer.onRecord(record);
    if (verdict === 'accepted' && this.#recalls.dropped === dropped) {
      taken.done = book.taken(record.headers.delivery ?? '');
      if (taken.early) taken.done();
    }
    return verdict;
  }

  /** The copies of a recall count as taken from their tier when they are written. */
  #openRecalls(appender: SimulatedAppender): Recalls {
    const { agenda, book, tiers, logs } = this.around;
    const { time } = this;
    const ofTopic = (topic: string) => logs.filter((log) => log.topic === topic);
    const producer = appender.hearing((records) => {
      for (const { topic, headers } of records) {
        if (topic === DUE) book.taken(headers?.delivery ?? '');
      }
    });
    return new Recalls({
      kafka: {
        read: ({ topic, partition, offset }) => {
          const log = ofTopic(topic).find(({ number }) => number === partition);
          if (!log) throw new Error(`nobody reads partition ${String(partition)} of ${topic}`);
          const records = log.peek(offset, FETCHED);
          const next = (records.at(-1)?.offset ?? offset - 1) + 1;
          const { low, high: end } = log.bounds;
          return Promise.resolve({ records, next, end, gone: offset < low, era: '' });
        },
        ranges: (topic) =>
          Promise.resolve(
            ofTopic(topic).map((log) => {
              const { low, high } = log.bounds;
              return { partition: log.number, low, high };
            }),
          ),
        committed: (_, topic) => {
          const offsets: number[] = [];
          for (const log of ofTopic(topic)) offsets[log.number] = log.position;
          return Promise.resolve(offsets);
        },
      },
      producer,
      tiers: () => tiers,
      completeAt: () => time.steadyMs() - FETCHED_MS,
      expectSoon: () => undefined,
      now: () => time.brokerClock.brokersNow(),
      steadyMs: () => time.steadyMs(),
      sleep: (ms) => new Promise((resolve) => agenda.in(ms, resolve)),
      keepMs: Infinity,
      log: createLog('simulator', 'silent'),
    });
  }
}
