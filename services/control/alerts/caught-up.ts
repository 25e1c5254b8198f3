import { type Kafka, type Range } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';

/**
 * Whether the history knows all that had happened when something was to be decided. One that catches up has read how a
 * destination failed yesterday, and not yet that it has been well since.
 */

/**
 * What cannot be read moves no position on. Nothing new in so long, and there is nothing else to come: after a crash Kafka
 * keeps the partitions for the process that is gone, and that takes less.
 */
const IDLE_MS = 120_000;

/** Pure. @param positions where `attempts` is read on, by partition */
export function isBehind(ends: readonly Range[], positions: ReadonlyMap<number, number>): boolean {
  return ends.some(({ partition, low, high }) => high > low && (positions.get(partition) ?? 0) < high);
}

export class CaughtUp {
  /** the ends that must have been read */
  #ends: Range[] | undefined;
  #seen = '';
  #seenAt = 0;

  constructor(
    private readonly kafka: Pick<Kafka, 'ranges'>,
    private readonly now: () => number,
  ) {}

  /**
   * Asked again until it is so; the first time takes down where the topic ends.
   * @param read where `attempts` is read on, by partition
   * @throws AppError `kafka_unavailable`, and what `read` throws
   */
  async reached(read: () => Promise<ReadonlyMap<number, number>>): Promise<boolean> {
    this.#ends ??= await this.kafka.ranges(ATTEMPTS);
    const positions = await read();
    const seen = JSON.stringify([...positions]);
    if (seen !== this.#seen) [this.#seen, this.#seenAt] = [seen, this.now()];
    const reached = !isBehind(this.#ends, positions) || this.now() - this.#seenAt >= IDLE_MS;
    if (reached) this.forget();
    return reached;
  }

  /** There is nothing to decide at present. */
  forget(): void {
    this.#ends = undefined;
  }
}
