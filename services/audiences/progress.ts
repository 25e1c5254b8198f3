import { type Kafka } from '../../shared/kafka/port';
import { MESSAGES, PROFILE_EVENTS } from '../../shared/kafka/topics';

/**
 * How far the messages have come on their way to the profiles: a look at the offsets of all, shared by the partitions of
 * this process. What is committed has been acknowledged in `profiles.events`; so whoever has read those to the ends that they
 * had afterwards has counted it.
 */

/** The consumer group that gives users' messages to their partitions. */
export const REPARTITION_GROUP = 'audiences';
const LOOK_EVERY_MS = 500;

export class RepartitionProgress {
  #committed: readonly number[] = [];
  #ends: readonly number[] = [];
  #looking: Promise<void> | undefined;
  #lookedAt = -Infinity;

  constructor(
    private readonly kafka: Pick<Kafka, 'committed' | 'ranges'>,
    private readonly now: () => number,
  ) {}

  /** Whether a partition that was read up to `next` has all that lay before these ends of `messages`. */
  covers(ends: readonly number[], partition: number, next: number): boolean {
    const end = this.#ends[partition];
    if (end === undefined || next < end) return false;
    return ends.every((messagesEnd, i) => (this.#committed[i] ?? 0) >= messagesEnd);
  }

  /** Looks again, unless somebody has a moment ago. @throws what Kafka throws */
  look(): Promise<void> {
    if (this.now() - this.#lookedAt < LOOK_EVERY_MS) return Promise.resolve();
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async messagesEnds(): Promise<number[]> {
    return endsOf(await this.kafka.ranges(MESSAGES));
  }

  async #look(): Promise<void> {
    const committed = await this.kafka.committed(REPARTITION_GROUP, MESSAGES);
    // In this order: what was committed before is below these ends.
    const ends = endsOf(await this.kafka.ranges(PROFILE_EVENTS));
    [this.#committed, this.#ends] = [committed, ends];
    this.#lookedAt = this.now();
  }
}

function endsOf(ranges: readonly { partition: number; high: number }[]): number[] {
  return [...ranges].sort((a, b) => a.partition - b.partition).map(({ high }) => high);
}
