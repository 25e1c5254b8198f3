import { type Kafka } from '../../shared/kafka/port';
import { MESSAGES, PROFILE_EVENTS } from '../../shared/kafka/topics';

/**
 * Tracks how far messages have been copied to the profiles, with one look at the offsets for all partitions of this
 * process. A committed message has been acknowledged in `profiles.events`. A reader that reaches the ends that this
 * topic had afterwards has therefore counted it.
 */

/** The consumer group that copies messages to their users' partitions. */
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

  /** Returns whether a partition that was read up to `next` contains everything before these ends of `messages`. */
  covers(ends: readonly number[], partition: number, next: number): boolean {
    const end = this.#ends[partition];
    if (end === undefined || next < end) return false;
    return ends.every((messagesEnd, i) => (this.#committed[i] ?? 0) >= messagesEnd);
  }

  /** Reads the offsets again, unless the last read was moments ago. @throws errors of Kafka */
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
    // Read after the commits: everything that was committed is then below these ends.
    const ends = endsOf(await this.kafka.ranges(PROFILE_EVENTS));
    [this.#committed, this.#ends] = [committed, ends];
    this.#lookedAt = this.now();
  }
}

function endsOf(ranges: readonly { partition: number; high: number }[]): number[] {
  return [...ranges].sort((a, b) => a.partition - b.partition).map(({ high }) => high);
}
