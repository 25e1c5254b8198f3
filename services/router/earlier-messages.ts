import { type InRecord, type Kafka, type RebalanceListener } from '../../shared/kafka/port';
import { retryingReads, scanAll, type Section } from '../../shared/kafka/scan';
import { MESSAGES } from '../../shared/kafka/topics';
import { DEDUP_IDS, DEDUP_MS, type DedupWindow } from '../../shared/model/dedup-window';
import { rememberMessage } from '../../shared/model/message-codec';
import { messageOf } from '../../shared/runtime/errors';
import { type Log } from '../../shared/telemetry/log';

/**
 * Reads back the messages that another process routed: those of the hour before the first message
 * that this router decides in a partition. Without them it would not recognise a copy that a client
 * sends after the partition has moved.
 *
 * Newest first. The partition waits for the last minute, because most clients repeat a call within
 * seconds. The rest follows while the partition goes on.
 *
 * What this router was offered itself it remembers itself. So a read is due whenever an offset lies
 * beyond the last one offered: at the start, after a takeover, and behind records that an earlier
 * owner had done.
 */

/** Time before the first decision that is read before it. */
const FIRST_MS = 60_000;
/**
 * Longest wait for it. Then copies may be delivered, which is better than a partition that stands
 * still.
 */
const WAIT_MS = 30_000;
/**
 * Offsets behind the first one that are read too. An earlier owner may have done some of these
 * records, which are then not offered here. Without this, each of them would cause a read.
 */
const AHEAD = 10_000;
/** Offsets of the first read; each further one has twice as many. */
const FIRST_READ = 256;
const LARGEST_READ = 8_192;
/** Partitions that are read at the same time, within the memory of one response. */
const AT_ONCE = 8;

/**
 * How much is known of the hour before a message: all; at least the last minute; or not even that,
 * so that the message must not be decided yet.
 */
export type EarlierKnown = 'all' | 'last_minute' | 'unread';

type MessagePosition = Pick<InRecord, 'partition' | 'offset' | 'timestampMs'>;

interface KnownPartition {
  readonly number: number;
  known: EarlierKnown;
  /** messages before this offset are in the window, or will be, or are in `unread` */
  to: number;
  /** a message beyond `to` that waits; its sections are not looked up yet */
  asked: Pick<MessagePosition, 'offset' | 'timestampMs'> | undefined;
  /** by `performance.now()` */
  waitsSince: number;
  /** what is still to be read, the newest last */
  readonly unread: UnreadSection[];
  /** offsets read so far */
  read: number;
}

interface UnreadSection {
  readonly from: number;
  to: number;
  /** ms since 1970: the partition waits for records since then */
  readonly waitsForMs: number;
}

interface Options {
  kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'>;
  dedupWindow: Pick<DedupWindow, 'remember'>;
  log: Log;
}

export class EarlierMessages implements RebalanceListener {
  readonly #kafka: Pick<Kafka, 'read' | 'ranges'>;
  readonly #partitions = new Map<number, KnownPartition>();
  /** The partitions share the memory of the window. */
  #mostOfPartition = DEDUP_IDS;
  #running = false;
  /** a partition was forgotten while others were read */
  #hasForgotten = false;
  /** A read of what was cut off finds nothing, however often it is repeated. */
  readonly #givesUp = () => this.#hasForgotten;

  constructor(private readonly options: Options) {
    this.#kafka = retryingReads(options.kafka, options.log, undefined, this.#givesUp);
  }

  /** Call for each message that is offered, in the order of its partition. */
  before(record: MessagePosition): EarlierKnown {
    const { partition: number, offset } = record;
    const partition = this.#partitions.get(number) ?? this.#begin(number);
    if (partition.asked === undefined && offset > partition.to) this.#ask(partition, record);
    else if (offset === partition.to) partition.to++;
    if (partition.known === 'unread') this.#giveUpIfLate(partition);
    return partition.known;
  }

  /** Call before a partition begins anew: other messages may be in the places of those known. */
  forget(partition: number): void {
    this.#partitions.delete(partition);
    this.#hasForgotten = true;
  }

  onAssigned(partitions: ReadonlySet<number>): void {
    this.#mostOfPartition = Math.ceil(DEDUP_IDS / Math.max(1, partitions.size));
    for (const number of this.#partitions.keys()) {
      if (!partitions.has(number)) this.#partitions.delete(number);
    }
  }

  /** Others may have routed messages since. */
  onLost(): void {
    this.#partitions.clear();
  }

  isDraining(): boolean {
    return false;
  }

  #begin(number: number): KnownPartition {
    const partition: KnownPartition = {
      number,
      known: 'all',
      to: 0,
      asked: undefined,
      waitsSince: 0,
      unread: [],
      read: 0,
    };
    this.#partitions.set(number, partition);
    return partition;
  }

  #ask(partition: KnownPartition, { offset, timestampMs }: MessagePosition): void {
    partition.asked = { offset, timestampMs };
    partition.known = 'unread';
    partition.waitsSince = performance.now();
    if (!this.#running) void this.#run();
  }

  #giveUpIfLate(partition: KnownPartition): void {
    if (performance.now() - partition.waitsSince < WAIT_MS) return;
    partition.known = 'last_minute';
    this.options.log.warn({ partition: partition.number }, 'dedup.not_warmed');
  }

  async #run(): Promise<void> {
    this.#running = true;
    const startedAt = performance.now();
    let records = 0;
    try {
      for (;;) {
        this.#hasForgotten = false;
        try {
          await this.#lookUp();
          const reads = this.#nextReads();
          if (reads.length > 0) records += await this.#readAll(reads);
          // A partition may have asked during the look-up.
          else if (![...this.#partitions.values()].some(({ asked }) => asked)) break;
        } catch (error) {
          if (!this.#givesUp()) throw error;
        }
      }
      const durationMs = Math.round(performance.now() - startedAt);
      this.options.log.info({ records, durationMs }, 'dedup.warmed');
    } catch (error) {
      this.options.log.warn({ records, reason: messageOf(error) }, 'dedup.partly_warmed');
      for (const partition of this.#partitions.values()) {
        partition.asked = undefined;
        partition.unread.length = 0;
        partition.known = 'last_minute';
      }
    } finally {
      this.#running = false;
    }
  }

  /** Finds the sections before the messages that wait. */
  async #lookUp(): Promise<void> {
    const asking = [...this.#partitions.values()].flatMap((partition) =>
      partition.asked ? [{ partition, ...partition.asked }] : [],
    );
    if (asking.length === 0) return;
    const firstAtMs = Math.min(...asking.map(({ timestampMs }) => timestampMs));
    const ranges = await this.#kafka.ranges(MESSAGES, firstAtMs - DEDUP_MS);
    for (const { partition, offset, timestampMs } of asking) {
      const range = ranges.find((each) => each.partition === partition.number);
      const to = Math.max(offset, Math.min(range?.high ?? 0, offset + AHEAD));
      const from = Math.max(range?.low ?? to, partition.to, to - this.#mostOfPartition);
      if (from < to) partition.unread.push({ from, to, waitsForMs: timestampMs - FIRST_MS });
      else partition.known = partition.unread.length > 0 ? 'last_minute' : 'all';
      partition.to = to;
      partition.asked = undefined;
    }
  }

  /** Returns the newest unread part of some partitions: of those that wait, while there are any. */
  #nextReads(): SectionRead[] {
    const behind = [...this.#partitions.values()].filter(({ unread }) => unread.length > 0);
    const waiting = behind.filter(({ known }) => known === 'unread');
    return (waiting.length > 0 ? waiting : behind)
      .sort((a, b) => a.read - b.read)
      .slice(0, AT_ONCE)
      .flatMap((partition) => {
        const unread = partition.unread.at(-1);
        if (!unread) return [];
        const offsets = Math.min(Math.max(partition.read, FIRST_READ), LARGEST_READ);
        return [{ partition, unread, from: Math.max(unread.from, unread.to - offsets) }];
      });
  }

  /** @returns the number of records */
  async #readAll(reads: readonly SectionRead[]): Promise<number> {
    const sections = reads.map(({ partition, unread, from }): Section => {
      return { topic: MESSAGES, partition: partition.number, from, to: unread.to };
    });
    const firstAtMs = new Map<number, number>();
    let count = 0;
    for await (const { partition, records } of scanAll(this.#kafka, sections)) {
      // The others are read again.
      if (this.#hasForgotten) return count;
      const [first] = records;
      if (first && !firstAtMs.has(partition)) firstAtMs.set(partition, first.timestampMs);
      for (const record of records) rememberMessage(this.options.dedupWindow, record);
      count += records.length;
    }
    for (const read of reads) noteRead(read, firstAtMs.get(read.partition.number));
    return count;
  }
}

/** The newest part of an unread section. */
interface SectionRead {
  partition: KnownPartition;
  unread: UnreadSection;
  from: number;
}

/** @param firstAtMs time of the first record that was read; undefined if there is none left */
function noteRead({ partition, unread, from }: SectionRead, firstAtMs: number | undefined): void {
  partition.read += unread.to - from;
  unread.to = from;
  const isWhole = from === unread.from;
  if (isWhole) partition.unread.pop();
  // It met another gap in the meantime.
  if (partition.asked) return;
  if (isWhole || (firstAtMs !== undefined && firstAtMs <= unread.waitsForMs)) {
    partition.known = partition.unread.length > 0 ? 'last_minute' : 'all';
  }
}
