import { groupBy } from '../../shared/collections/group-by';
import {
  type BatchProducer,
  type InRecord,
  type Kafka,
  type OpenRecord,
  type OutRecord,
  type Restart,
} from '../../shared/kafka/port';
import { recallRecord } from '../../shared/kafka/topics';
import { type Recall, stepHash } from '../../shared/model/recall';
import { withTimeout } from '../../shared/runtime/async';
import { messageOf } from '../../shared/runtime/errors';
import { type Log } from '../../shared/telemetry/log';
import { dueAt, type KnownRecall, RecallLog, stands, takesOne } from './recall-log';
import { RecallPace } from './recall-pace';
import {
  type FoundRecord,
  keyPartitions,
  partitionCount,
  readTierBounds,
  searchTiers,
} from './recall-search';
import { RecallTaker } from './recall-taker';
import { countDropped } from './telemetry';
import { TierPositions } from './tier-positions';

/**
 * Takes deliveries out of their tiers early, on request (shared/model/recall.ts).
 *
 * Each partition of the tiers has one owner, which both returns its due records and recalls its
 * waiting ones, so that the two never compete. Invariants: a record in a tier is dropped only after
 * Kafka has acknowledged a copy of its step in `webhooks.due`; and no record falls due before this
 * process knows the notes of the partition's last owner.
 */

export interface RecallOptions {
  kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'>;
  producer: Pick<BatchProducer, 'send'>;
  /** the tiers that are read */
  tiers: () => readonly string[];
  /** up to when `webhooks.recalls` is known, as `Tail.completeAt` */
  completeAt: () => number;
  /** lets `completeAt` advance soon */
  expectSoon: () => void;
  /** the brokers' clock, ms since 1970 */
  now: () => number;
  /** `performance.now()`, as `completeAt` */
  steadyMs: () => number;
  sleep: (ms: number) => Promise<void>;
  /** retention of `webhooks.recalls`, ms */
  keepMs: number;
  log: Log;
}

/** Waits of a due record, ms. */
const UNKNOWN_MS = 50;
const TAKING_MS = 20;
/** Pause between two searches for deliveries that were being attempted, and before the next try. */
const AGAIN_MS = 500;
/**
 * Time for which a retry of one delivery waits for it to enter a tier: its history is seen before
 * its record.
 */
const RETRY_STANDS_MS = 2_000;
/** Few, so that a cancelled job or a lost partition stops soon. */
const MOST_AT_ONCE = 200;
/**
 * Searches of a queue at the same time; a job has one. Each search reads the tiers, so that it
 * covers all recalls of its queue since the last one: after an outage of a network thousands of
 * endpoints recover together.
 */
const SEARCHES_AT_ONCE: Readonly<Record<string, number>> = { one: 1, recovered: 4, probe: 1 };

export class Recalls {
  readonly positions: TierPositions;
  readonly #log: RecallLog;
  readonly #taker: RecallTaker;
  /** running searches, by queue */
  readonly #searches = new Map<string, number>();
  /** when a probe is due, ms since 1970 */
  #wakesAt = Infinity;
  /** number of partitions of the tiers; Infinity: not known yet */
  #partitions = Infinity;
  #stopped = false;
  #works = false;
  #dropped = 0;

  constructor(private readonly options: RecallOptions) {
    this.#log = new RecallLog(options.keepMs);
    this.#taker = new RecallTaker(options, this.#log, (record) => !this.#isGone(record));
    this.positions = new TierPositions({
      steadyMs: options.steadyMs,
      isTaking: (partition) => this.#taker.isTaking(partition),
      onAssigned: () => this.recheck(),
    });
  }

  /** Number of due records that were dropped because they had left early. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Reads a record of `webhooks.recalls`. */
  onRecall(record: InRecord): void {
    this.#log.onRecord(record, this.options.now());
    this.recheck();
  }

  /** What was returned or searched from this offset on is gone, or comes again. */
  onRestart(restart: Restart): void {
    this.positions.onRestart(restart);
    this.#log.onRestart(restart);
  }

  /** Begins to work: the topic is read to its end. */
  start(): void {
    this.#works = true;
    this.recheck();
  }

  /**
   * Starts no more copies, and waits at most `deadlineMs` until the current ones are acknowledged.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true;
    await withTimeout(deadlineMs, this.#taker.idle());
  }

  /**
   * Decides about a due record: return it, drop it because it has left early, or offer it again
   * after a wait.
   */
  check(record: OpenRecord): 'return' | 'drop' | { againInMs: number } {
    const assignedAt = this.positions.assignedAt(record.partition);
    if (assignedAt === undefined || this.options.completeAt() < assignedAt) {
      this.options.expectSoon();
      return { againInMs: UNKNOWN_MS };
    }
    if (this.#log.isEmpty && this.#taker.isIdle) return 'return';
    const step = stepHash(record.headers);
    if (step === undefined) return 'return';
    if (this.#taker.isTakingStep(step)) return { againInMs: TAKING_MS };
    if (!this.#log.isTaken(step, this.options.now())) return 'return';
    this.#dropped++;
    countDropped();
    return 'drop';
  }

  /** Starts the work that recalls need and no run does yet. */
  recheck(): void {
    if (!this.#works || this.#stopped) return;
    const now = this.options.now();
    // Also without a partition: the topic is read, and nothing else drops what is over.
    const known = this.#log.open(now, this.#partitions).filter(({ running }) => !running);
    const partitions = this.#knownPartitions();
    if (partitions.length === 0) return;
    this.#wakeAt(Math.min(...known.map(dueAt).filter((atMs) => atMs > now)), now);
    const due = known.filter(
      (each) =>
        dueAt(each) <= now && (takesOne(each.recall) || this.#left([each], partitions).length > 0),
    );
    for (const [queue, group] of groupBy(due, ({ recall }) => queueOf(recall))) {
      const running = this.#searches.get(queue) ?? 0;
      if (running < (SEARCHES_AT_ONCE[queue] ?? Infinity)) this.#run(queue, group, partitions);
    }
  }

  /** Checks again at this time, ms since 1970; Infinity: no probe is awaited. */
  #wakeAt(atMs: number, nowMs: number): void {
    if (atMs >= this.#wakesAt) return;
    this.#wakesAt = atMs;
    void this.options.sleep(atMs - nowMs).then(() => {
      // An earlier one has been awaited since.
      if (this.#wakesAt !== atMs) return;
      this.#wakesAt = Infinity;
      this.recheck();
    });
  }

  /** Returns the partitions that recalls of many need searched. */
  #left(group: readonly KnownRecall[], partitions: readonly number[]): number[] {
    const now = this.options.now();
    return partitions.filter((each) =>
      group.some((known) => stands(known, now) || !known.searched.has(each)),
    );
  }

  /** Returns the owned partitions whose notes are known. */
  #knownPartitions(): number[] {
    const { owned } = this.positions;
    const completeAt = this.options.completeAt();
    const known = [...owned].filter(
      (each) => (this.positions.assignedAt(each) ?? Infinity) <= completeAt,
    );
    if (known.length < owned.size) this.options.expectSoon();
    return known;
  }

  /** Later recalls of the queue wait for its next search. */
  #run(queue: string, group: KnownRecall[], partitions: number[]): void {
    const { sleep, log } = this.options;
    for (const known of group) known.running = true;
    this.#searches.set(queue, (this.#searches.get(queue) ?? 0) + 1);
    void this.#search(group, partitions)
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'recall.interrupted'))
      .then(() => {
        const left = (this.#searches.get(queue) ?? 1) - 1;
        if (left > 0) this.#searches.set(queue, left);
        else this.#searches.delete(queue);
        this.recheck();
        return sleep(AGAIN_MS);
      })
      .then(() => {
        for (const known of group) known.running = false;
        this.recheck();
      });
  }

  async #search(group: KnownRecall[], partitions: readonly number[]): Promise<void> {
    const { kafka, tiers, steadyMs, sleep } = this.options;
    const [first] = group;
    if (!first) return;
    const { recall } = first;
    // A partition that is lost and comes back has another owner's notes in between.
    const since = new Map(partitions.map((each) => [each, this.positions.assignedAt(each)]));
    const isOwned = (partition: number) =>
      since.get(partition) !== undefined &&
      this.positions.assignedAt(partition) === since.get(partition);
    const bounds = await readTierBounds(kafka, tiers());
    this.#partitions = partitionCount(bounds);
    const left = takesOne(recall) ? partitions : this.#left(group, partitions);
    const pace = takesOne(recall)
      ? undefined
      : new RecallPace(steadyMs(), () => this.#mostPerSecond(recall));
    const goesOn = (partition: number) =>
      !this.#stopped &&
      isOwned(partition) &&
      group.some(({ found, stopped }) => !found && !stopped);
    const take = (found: FoundRecord[]) => this.#take(found, goesOn, pace);
    const searched = await searchTiers(
      { kafka, positions: this.positions, sleep },
      { group, partitions: left, goesOn, take },
      bounds,
    );
    if (!takesOne(recall)) {
      await this.#noteSearched(group, searched);
      return;
    }
    const now = this.options.now();
    for (const known of group) {
      if (known.recall.action === 'probe') this.#log.probed(known, now);
      // It is in no tier: it is being attempted or has ended.
      else known.found ||= !stands(known, now) && now - known.atMs > RETRY_STANDS_MS;
    }
  }

  async #noteSearched(group: readonly KnownRecall[], searched: readonly number[]): Promise<void> {
    const notes = group.flatMap(({ recall, searched: before }): OutRecord[] => {
      const fresh = searched.filter((each) => !before.has(each));
      for (const each of fresh) before.add(each);
      const note = {
        kind: 'searched' as const,
        recall: recall.id,
        partitions: fresh,
        of: this.#partitions,
      };
      return fresh.length > 0 ? [recallRecord(note)] : [];
    });
    if (notes.length > 0) await this.options.producer.send(notes);
  }

  /** Takes the found records, at the pace of the recall. */
  async #take(
    found: FoundRecord[],
    goesOn: (partition: number) => boolean,
    pace: RecallPace | undefined,
  ): Promise<void> {
    const { steadyMs, sleep } = this.options;
    for (let rest = found; rest[0];) {
      rest = rest.filter(({ known, record }) => !known.stopped && goesOn(record.partition));
      if (rest.length === 0) return;
      const most = Math.min(rest.length, MOST_AT_ONCE);
      const count = pace ? pace.take(most, steadyMs()) : most;
      if (pace && count === 0) {
        await sleep(pace.waitMs(most, steadyMs()));
        continue;
      }
      const now = rest.slice(0, count);
      rest = rest.slice(now.length);
      for (const [known, each] of groupBy(now, (one) => one.known)) {
        const records = each.map(({ record }) => record);
        if (takesOne(known.recall)) await this.#takeOne(known, records);
        else await this.#taker.take(known, records);
      }
    }
  }

  /** The partitions are searched concurrently: only one of them takes it. */
  async #takeOne(known: KnownRecall, records: readonly InRecord[]): Promise<void> {
    for (const record of records) {
      if (known.found) return;
      known.found = true;
      known.found = await this.#taker.take(known, [record]);
    }
  }

  /** Returns this process's part of the rate, by its part of the destination's shards. */
  #mostPerSecond(recall: Recall): number | undefined {
    if (recall.maxPerSecond === undefined) return undefined;
    const all = keyPartitions(recall, this.#partitions);
    const own = all.filter((each) => this.positions.owned.has(each)).length;
    return (recall.maxPerSecond * Math.max(1, own)) / Math.max(1, all.length);
  }

  /** Returns whether a record was returned, or its partition is with another process. */
  #isGone({ topic, partition, offset }: InRecord): boolean {
    return (
      this.positions.assignedAt(partition) === undefined ||
      offset < (this.positions.next(topic, partition) ?? 0)
    );
  }
}

/**
 * Returns which recalls are searched for together. Each job has a queue of its own: control starts
 * few, and one with a low rate takes hours and must not hold up the others.
 */
function queueOf(recall: Recall): string {
  if (recall.where.delivery) return 'one';
  return recall.action === 'recovered' || recall.action === 'probe' ? recall.action : recall.id;
}
