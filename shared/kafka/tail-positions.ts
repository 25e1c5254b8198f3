import { type Admin } from 'kafkajs';
import { ConsumedRecord, Partition } from './consumer/partition';
import { type FetchedPartition } from './client/cluster';
import { START_WITHIN_MS, whileLeadersAreFound } from './client/leaderless';
import { type Bounds } from './consumer/leaders';
import { type TailOptions } from './port';
import { nextOffset } from './reader';

/** The position of a tail in one partition. */
export interface TailPosition {
  readonly owner: Partition;
  /** the next offset to read; -1: the start must be looked up first */
  next: number;
  /** least position that counts as complete; Infinity: the end must be looked up first */
  floor: number;
  /** number of interruptions: a look-up that began before the last one proves nothing */
  interruptions: number;
  /** `onRecord` has received all records that the partition held at this time */
  completeAt: number;
}

interface Ends {
  partition: number;
  low: string;
  high: string;
}

type Looks = Pick<
  Admin,
  'fetchTopicMetadata' | 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp'
>;

/** Tracks the positions of a tail in the partitions of its topic. */
export class TailPositions {
  readonly #byPartition = new Map<number, TailPosition>();

  /** @param topic without the prefix */
  constructor(
    private readonly topic: string,
    private readonly from: TailOptions['from'],
  ) {}

  /**
   * Notes the partitions of the topic, and finds the start in those that have a leader. @param name
   * with the prefix
   */
  async findStart(admin: Looks, name: string): Promise<void> {
    const { topics } = await whileLeadersAreFound(
      () => admin.fetchTopicMetadata({ topics: [name] }),
      START_WITHIN_MS,
    );
    for (const { partitionId } of topics[0]?.partitions ?? []) {
      this.#begin(partitionId, { next: -1, floor: Infinity });
    }
    await whileLeadersAreFound(() => this.lookUp(admin, name), START_WITHIN_MS);
  }

  /**
   * Returns the position in a partition. A partition added to the topic since the start is read from
   * offset 0.
   */
  getOrBegin(partition: number): TailPosition {
    return this.#byPartition.get(partition) ?? this.#begin(partition, { next: 0, floor: 0 });
  }

  #begin(partition: number, at: Pick<TailPosition, 'next' | 'floor'>): TailPosition {
    const position = {
      ...at,
      owner: new Partition(this.topic, partition, 0),
      interruptions: 0,
      completeAt: -Infinity,
    };
    this.#byPartition.set(partition, position);
    return position;
  }

  /**
   * Moves a position behind a fetch, and passes the records from the old position on to `give`.
   * @param fetch `isEmpty`: no partition of the fetch has records; `begunAt`: its start
   * @returns whether it read records or proved the end
   */
  take(
    fetched: FetchedPartition,
    fetch: { isEmpty: boolean; begunAt: number; give: TailOptions['onRecord'] },
  ): boolean {
    const position = this.#byPartition.get(fetched.partition);
    if (!position) return false;
    const before = position.next;
    for (const message of fetched.messages) {
      // A broker returns whole batches, which may start before the position.
      if (message.offset >= before) fetch.give(new ConsumedRecord(position.owner, message));
    }
    if (fetch.isEmpty || fetched.next !== undefined) {
      position.next = nextOffset(this.topic, fetched, before);
    }
    const complete =
      Number(fetched.highWatermark) <= position.next && position.next >= position.floor;
    if (complete) position.completeAt = fetch.begunAt;
    return complete || position.next > before;
  }

  /** Notes that a position is complete only at an end that is looked up after this. */
  interrupt(position: TailPosition): void {
    position.floor = Infinity;
    position.interruptions++;
  }

  /**
   * Looks up the missing starts and ends. Partitions that have no leader keep missing them. It does
   * not change others, whose reader may have read further.
   */
  async lookUp(admin: Looks, name: string): Promise<void> {
    const { from } = this;
    const missing = [...this.#byPartition.values()].filter(({ floor }) => floor === Infinity);
    const asked = new Map(missing.map((position) => [position, position.interruptions]));
    const ends = await admin.fetchTopicOffsets(name);
    const byTime = typeof from !== 'string' && missing.some(({ next }) => next < 0);
    const since = byTime ? await admin.fetchTopicOffsetsByTimestamp(name, from.sinceMs) : [];
    for (const { partition, ...end } of ends) {
      const position = this.#byPartition.get(partition);
      if (position === undefined || asked.get(position) !== position.interruptions) continue;
      const bounds = { low: Number(end.low), high: Number(end.high) };
      const found = since.find((entry) => entry.partition === partition);
      if (position.next >= 0) position.next = this.#corrected(position.next, bounds);
      else if (typeof from === 'string') {
        position.next = from === 'beginning' ? bounds.low : bounds.high;
      } else if (found) position.next = this.#startAt(Number(found.offset), bounds, from.atMost);
      if (position.next >= 0) position.floor = bounds.high;
    }
  }

  /** @param found offset of the first record since the start time; negative if there is none */
  #startAt(found: number, { low, high }: Bounds, atMost: number): number {
    return Math.max(
      low,
      found < 0 ? high : found,
      high - Math.ceil(atMost / this.#byPartition.size),
    );
  }

  /**
   * Moves a position whose records were deleted before they were read, or whose log was truncated
   * and reuses offsets.
   */
  #corrected(position: number, { low, high }: Bounds): number {
    if (position < low) return low;
    if (position <= high) return position;
    return this.from === 'beginning' ? low : high;
  }

  /**
   * `onRecord` has received all records that the topic held at this time; Infinity for a topic
   * without partitions.
   */
  get completeAt(): number {
    let completeAt = Infinity;
    for (const position of this.#byPartition.values()) {
      completeAt = Math.min(completeAt, position.completeAt);
    }
    return completeAt;
  }

  hasReached(ends: readonly Ends[]): boolean {
    return ends.every(
      ({ partition, high }) => (this.#byPartition.get(partition)?.next ?? -1) >= Number(high),
    );
  }

  /** Notes that these partitions are complete as of a time. */
  complete(ends: readonly Ends[], at: number): void {
    for (const { partition } of ends) {
      const position = this.#byPartition.get(partition);
      if (position) position.completeAt = Math.max(position.completeAt, at);
    }
  }
}
