import { type Kafka } from '../../../shared/kafka/port';
import { markAt, nameOf } from '../../../shared/kafka/record-name';
import { rangeOf, recordAt } from '../../../shared/kafka/scan';
import { PROFILES } from '../../../shared/kafka/topics';
import { type Checkpoint } from './store';

/**
 * Determines up to which record of the changelog a store is complete: the last one of the changelog,
 * provided that it grew only by the records of this process. A process that was frozen finds its
 * successor's records there before it learns of the successor. It must not claim to hold them.
 */

const EVERY_MS = 10_000;
/**
 * Pause after a foreign record. A process that still owns the partition after this time (several
 * sessions) holds the current state, and takes checkpoints again.
 */
const DOUBT_MS = 30_000;

export class Checkpoints {
  /** end of the changelog at the last checkpoint */
  #end: number;
  #written = 0;
  #lookedAt: number;
  #doubtedAt: number | undefined;

  /** @param options.next end of the changelog when the store was restored from it */
  constructor(
    private readonly options: {
      kafka: Pick<Kafka, 'read' | 'ranges'>;
      partition: number;
      next: number;
      now: () => number;
    },
  ) {
    this.#end = options.next;
    this.#lookedAt = options.now();
  }

  /** Counts records that were acknowledged and whose content is in the store. */
  wrote(records: number): void {
    this.#written += records;
  }

  /** Call between two steps. @returns the next checkpoint when one is due; `at` in ms since 1970 */
  async next(): Promise<Checkpoint | undefined> {
    const { kafka, partition, now } = this.options;
    if (this.#written === 0 || now() - this.#lookedAt < EVERY_MS) return undefined;
    const at = (this.#lookedAt = now());
    const next = (await rangeOf(kafka, { topic: PROFILES, partition }))?.high ?? 0;
    // More records come from another process, or from a request that this process sent twice.
    if (next !== this.#end + this.#written) {
      this.#doubtedAt ??= at;
      if (at - this.#doubtedAt < DOUBT_MS) return undefined;
    }
    const last = await recordAt(kafka, { topic: PROFILES, partition, offset: next - 1 });
    if (last?.offset !== next - 1) return undefined;
    this.#doubtedAt = undefined;
    this.#end = next;
    this.#written = 0;
    return { last: markAt(nameOf(last)), at };
  }
}
