import { type OpenRecord, type OutRecord, type Restart } from '../../shared/kafka/port';
import { parkTiers } from '../../shared/model/schedule';
import { ATTEMPTS, DEAD, DUE, RECALLS, tierTopic, WEBHOOKS } from '../../shared/kafka/topics';
import { type Agenda } from './virtual-clock';
import { type Book } from './delivery-audit';
import { type Settings } from './delivery-process';
import { type Figures } from './figures';
import { PartitionLog } from './log';
import { EPOCH_MS, type ProcessTime } from './process-time';
import { RetryProcess } from './retry-process';

/** All topics, the processes that own their partitions, and the clock of the brokers. */

/** Bodies have one size, 1 KB. */
const BODY = Buffer.alloc(1_024, 'x');
/** An owner that gives a partition up is asked again whether it holds something, ms. */
const RELEASED_EVERY_MS = 10;

interface Around {
  agenda: Agenda;
  book: Book;
  figures: Figures;
  settings: Settings;
}

/** A process that owns partitions: each with the same number in several topics. */
export interface Owner {
  time: ProcessTime;
  take(partition: number, logs: readonly PartitionLog[]): void;
  leave(partition: number, logs: readonly PartitionLog[]): void;
  isDraining(partition: number): boolean;
  /** What was read from this offset on is gone, or comes again. */
  restarted(restart: Restart): void;
}

/** The topics that one kind of process reads. */
interface Group {
  topics: readonly string[];
  /** by partition */
  owners: Map<number, Owner>;
}

export type GroupName = 'delivery' | 'retry';

export class Cluster {
  /** by topic and partition */
  readonly #logs = new Map<string, PartitionLog>();
  readonly #partitions: ReadonlySet<number>;
  readonly #groups: Record<GroupName, Group>;
  readonly retries: readonly RetryProcess[];
  #aheadMs = 0;

  /**
   * @param partitions of the simulated processes
   * @param retries number of retry processes; the first owns all partitions
   */
  constructor(
    private readonly around: Around,
    partitions: readonly number[],
    readonly partitionOf: (key: string) => number,
    retries: number,
  ) {
    this.#partitions = new Set(partitions);
    const tiers = parkTiers(around.settings.tiersMs).map(tierTopic);
    this.#groups = {
      delivery: { topics: [WEBHOOKS, DUE], owners: new Map() },
      retry: { topics: tiers, owners: new Map() },
    };
    for (const topic of [WEBHOOKS, DUE, ...tiers]) {
      for (const number of partitions) {
        const log = new PartitionLog(topic, number, BODY);
        log.onLost = ({ headers }) => around.book.cutOff(headers.delivery ?? '', topic);
        this.#logs.set(nameOf(topic, number), log);
      }
    }
    const { agenda, book } = around;
    const logs = partitions.flatMap((number) => this.#logsOf('retry', number));
    const store = (records: OutRecord[]) => this.store(records);
    this.retries = Array.from(
      { length: retries },
      () => new RetryProcess({ agenda, book, store, tiers, logs }),
    );
    for (const number of partitions) this.assign('retry', number, this.retries[0]);
  }

  has(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /** Gives a partition that nobody owns to a process. */
  assign(group: GroupName, partition: number, owner: Owner | undefined): void {
    if (!owner) return;
    this.#groups[group].owners.set(partition, owner);
    const logs = this.#logsOf(group, partition);
    // It may have had the partition before, and a cut may have come since.
    for (const log of logs) {
      owner.restarted({ topic: log.topic, partition, from: log.position, wasCut: false });
    }
    owner.take(partition, logs);
  }

  /**
   * Moves a partition to the next of these processes, once its owner has finished or handed back
   * its records.
   */
  move(group: GroupName, partition: number, members: readonly Owner[]): void {
    const { owners } = this.#groups[group];
    const from = owners.get(partition);
    const to = from && members[(members.indexOf(from) + 1) % members.length];
    if (!from || !to || from === to) return;
    owners.delete(partition);
    const logs = this.#logsOf(group, partition);
    from.leave(partition, logs);
    const release = () => {
      if (logs.some(({ open }) => open > 0) || from.isDraining(partition)) {
        this.around.agenda.in(RELEASED_EVERY_MS, release);
        return;
      }
      for (const log of logs) log.handOver();
      this.assign(group, partition, to);
    };
    release();
  }

  /** Loses the newest records of a topic. @param topic its number, of any size */
  cut(topic: number, partition: number, most: number): void {
    const groups = Object.values(this.#groups);
    const topics = groups.flatMap((group) => group.topics);
    const name = topics[topic % topics.length] ?? '';
    const from = this.#log(name, partition).cut(most);
    const group = groups.find((each) => each.topics.includes(name));
    group?.owners.get(partition)?.restarted({ topic: name, partition, from, wasCut: true });
  }

  /** Returns the records of a destination that wait in tiers. */
  waiting(destination: string): OpenRecord[] {
    const logs = [...this.#partitions].flatMap((number) => this.#logsOf('retry', number));
    const records = logs.flatMap((log) => log.peek(log.position, Infinity));
    return records.filter(({ headers }) => headers.destination === destination);
  }

  /** The brokers' clock jumps. @param byMs negative: back */
  step(byMs: number): void {
    this.#aheadMs += byMs;
  }

  append(topic: string, partition: number, record: Pick<OutRecord, 'key' | 'headers'>): void {
    this.#log(topic, partition).append(record, this.#brokersNow());
  }

  /** Stores the appends of processes. @returns when, by the brokers' clock */
  store(records: OutRecord[]): number {
    const { agenda, book, figures } = this.around;
    figures.count('appends', records.length);
    figures.course('appends').add(agenda.now, records.length);
    for (const record of records) {
      const { topic, key } = record;
      if (topic === RECALLS) {
        for (const retry of this.retries) retry.recalled(record, this.#brokersNow());
        continue;
      }
      book.written(record, agenda.now);
      if (topic !== ATTEMPTS && topic !== DEAD) {
        this.append(topic, this.partitionOf(key ?? ''), record);
      }
    }
    return this.#brokersNow();
  }

  #brokersNow(): number {
    return EPOCH_MS + this.around.agenda.now + this.#aheadMs;
  }

  #logsOf(group: GroupName, partition: number): PartitionLog[] {
    return this.#groups[group].topics.map((topic) => this.#log(topic, partition));
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
