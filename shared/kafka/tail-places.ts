import { type Admin } from 'kafkajs';
import { Partition } from './consumer/partition';
import { whileLeadersAreFound, START_WITHIN_MS } from './leader-retry';
import { type TailOptions } from './port';

/** The position of a tail in one partition. */
export interface Place {
  readonly owner: Partition;
  /** the next offset to read */
  position: number;
  /** least position that counts as complete; Infinity: the end must be looked up first */
  floor: number;
  /** `onRecord` has received all records that the partition held at this time */
  completeAt: number;
}

interface Ends {
  partition: number;
  low: string;
  high: string;
}

/** Tracks the positions of a tail in the partitions of its topic. */
export class TailPlaces {
  readonly #byPartition = new Map<number, Place>();

  /** @param topic without the prefix */
  constructor(
    private readonly topic: string,
    private readonly from: TailOptions['from'],
  ) {}

  /** Finds the start position in each partition. @param name the topic with the prefix */
  async findStart(admin: Admin, name: string): Promise<void> {
    const { from } = this;
    const ends = await whileLeadersAreFound(() => admin.fetchTopicOffsets(name), START_WITHIN_MS);
    const since =
      typeof from === 'string'
        ? []
        : await whileLeadersAreFound(() => admin.fetchTopicOffsetsByTimestamp(name, from.sinceMs));
    for (const { partition, ...end } of ends) {
      const [low, high] = [Number(end.low), Number(end.high)];
      let position = from === 'beginning' ? low : high;
      if (typeof from !== 'string') {
        const found = Number(since.find((entry) => entry.partition === partition)?.offset ?? -1);
        position = Math.max(low, found < 0 ? high : found, high - Math.ceil(from.atMost / ends.length));
      }
      this.#begin(partition, { position, floor: high });
    }
  }

  get(partition: number): Place | undefined {
    return this.#byPartition.get(partition);
  }

  /** Returns the place in a partition. A partition added to the topic since the start is read from offset 0. */
  getOrBegin(partition: number): Place {
    return this.#byPartition.get(partition) ?? this.#begin(partition, { position: 0, floor: 0 });
  }

  #begin(partition: number, at: Pick<Place, 'position' | 'floor'>): Place {
    const place = { ...at, owner: new Partition(this.topic, partition, 0), completeAt: -Infinity };
    this.#byPartition.set(partition, place);
    return place;
  }

  /** Applies the ends that leaders report after an interruption. */
  correct(ends: readonly Ends[]): void {
    for (const { partition, ...end } of ends) {
      const place = this.#byPartition.get(partition);
      if (!place) continue;
      const [low, high] = [Number(end.low), Number(end.high)];
      place.floor = high;
      // Records were deleted before they were read, or the log was truncated and reuses their offsets.
      if (place.position < low) place.position = low;
      else if (place.position > high) place.position = this.from === 'beginning' ? low : high;
    }
  }

  /** `onRecord` has received all records that the topic held at this time; Infinity for a topic without partitions. */
  get completeAt(): number {
    let completeAt = Infinity;
    for (const place of this.#byPartition.values()) completeAt = Math.min(completeAt, place.completeAt);
    return completeAt;
  }

  hasReached(ends: readonly Ends[]): boolean {
    return ends.every(({ partition, high }) => (this.#byPartition.get(partition)?.position ?? -1) >= Number(high));
  }

  /** Notes that all partitions are complete as of a time. */
  complete(at: number): void {
    for (const place of this.#byPartition.values()) place.completeAt = Math.max(place.completeAt, at);
  }
}
