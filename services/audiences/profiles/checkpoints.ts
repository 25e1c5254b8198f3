import { type Kafka } from '../../../shared/kafka/port';
import { PROFILES } from '../../../shared/kafka/topics';

/**
 * Up to where the store of a partition holds what its changelog says: the end of the changelog, as long as it has grown by
 * what this process wrote and by nothing else. A process that was frozen finds its successor's records there, before it
 * learns that it has one: it must not claim to hold them.
 */

const EVERY_MS = 10_000;
/** After a foreign record: who is still the partition's keeper by then (several sessions) has what counts, and goes on from there. */
const DOUBT_MS = 30_000;

export class Checkpoints {
  /** where the changelog ended at the last one */
  #end: number;
  #written = 0;
  #lookedAt: number;
  #doubtedAt: number | undefined;

  /** @param options.next where the changelog ended when the store was restored from it */
  constructor(
    private readonly options: {
      kafka: Pick<Kafka, 'ranges'>;
      partition: number;
      next: number;
      now: () => number;
    },
  ) {
    this.#end = options.next;
    this.#lookedAt = options.now();
  }

  /** So many records were acknowledged, and the store has what they say. */
  wrote(records: number): void {
    this.#written += records;
  }

  /** To be called between two steps. @returns the next one, now and then; ms since 1970 */
  async next(): Promise<{ next: number; at: number } | undefined> {
    const { kafka, partition, now } = this.options;
    if (this.#written === 0 || now() - this.#lookedAt < EVERY_MS) return undefined;
    const at = (this.#lookedAt = now());
    const next = (await kafka.ranges(PROFILES)).find((each) => each.partition === partition)?.high ?? 0;
    // More is another's, or a request's of ours that was sent twice.
    if (next !== this.#end + this.#written) {
      this.#doubtedAt ??= at;
      if (at - this.#doubtedAt < DOUBT_MS) return undefined;
    }
    this.#doubtedAt = undefined;
    this.#end = next;
    this.#written = 0;
    return { next, at };
  }
}
