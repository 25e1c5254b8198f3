import { type Kafka } from '../../../shared/kafka/port';
import { markAt, nameOf } from '../../../shared/kafka/record-name';
import { rangeOf, recordAt } from '../../../shared/kafka/scan';
import { PROFILES } from '../../../shared/kafka/topics';
import { type Checkpoint, type Store } from './store';

/**
 * Determines up to which record of the changelog a store is complete: the last one of the changelog,
 * provided that it grew only by the records of this process. A process that was frozen finds its
 * successor's records there before it learns of the successor. It must not claim to hold them.
 *
 * A changelog that holds less than this process wrote was cut. The steps that it lost are in no other
 * store, so this store must not go on.
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
  #lookedAt: number;
  #doubtedAt: number | undefined;
  #wasShort = false;

  /** @param options.next end of the changelog when the store was restored from it */
  constructor(
    private readonly options: {
      kafka: Pick<Kafka, 'read' | 'ranges'>;
      store: Pick<Store, 'checkpoint' | 'written'>;
      partition: number;
      next: number;
      now: () => number;
    },
  ) {
    this.#end = options.next;
    this.#lookedAt = options.now();
  }

  /**
   * Call between two steps.
   * @returns the next checkpoint when one is due (`at` in ms since 1970), or that the changelog was
   *   cut
   */
  async next(): Promise<Checkpoint | 'log_cut' | undefined> {
    const { kafka, store, partition, now } = this.options;
    if (store.written === 0 || now() - this.#lookedAt < EVERY_MS) return undefined;
    const at = (this.#lookedAt = now());
    const next = (await rangeOf(kafka, { topic: PROFILES, partition }))?.high ?? 0;
    const expected = this.#end + store.written;
    // A new leader may not know for a moment what is acknowledged.
    const wasShort = this.#wasShort;
    this.#wasShort = next < expected;
    if (this.#wasShort) return wasShort ? 'log_cut' : undefined;
    // More records come from another process, or from a request that this process sent twice.
    if (next > expected) {
      this.#doubtedAt ??= at;
      if (at - this.#doubtedAt < DOUBT_MS) return undefined;
    }
    const last = await recordAt(kafka, { topic: PROFILES, partition, offset: next - 1 });
    if (last?.offset !== next - 1) return undefined;
    this.#doubtedAt = undefined;
    this.#end = next;
    return { last: markAt(nameOf(last), store.checkpoint?.last), at };
  }
}
