import { type Kafka } from '../../../shared/kafka/port';
import { markAt, nameOf } from '../../../shared/kafka/record-name';
import { rangeOf, recordAt, scan } from '../../../shared/kafka/scan';
import { PROFILES } from '../../../shared/kafka/topics';
import { type Checkpoint, type Store } from './store';
import { Terms } from './terms';

/**
 * Determines up to which record of the changelog a store is complete: the last one of the
 * changelog, provided that it grew only by the records of this process. A process that was frozen
 * finds its successor's records there before it learns of the successor. It must not claim to hold
 * them, and what it wrote behind them is void. The successor finds that, and writes these users
 * again (terms.ts).
 *
 * A changelog that holds less than this process wrote was cut. The steps that it lost are in no
 * other store, so this store must not go on.
 */

const EVERY_MS = 10_000;

export class Checkpoints {
  /** end of the changelog at the last checkpoint, and as many more as were written twice since */
  #end: number;
  /** the first check shows what came between the restoration and the first record of this term */
  #checkedAt = -Infinity;
  #wasShort = false;

  /**
   * @param options.next end of the changelog when the store was restored from it
   * @param options.term the term of this process
   */
  constructor(
    private readonly options: {
      kafka: Pick<Kafka, 'read' | 'ranges'>;
      store: Pick<Store, 'checkpoint' | 'written'>;
      partition: number;
      next: number;
      term: number;
      now: () => number;
    },
  ) {
    this.#end = options.next;
  }

  /**
   * Call between two steps.
   * @returns the next checkpoint when one is due (`at` in ms since 1970), or the users to write
   *   again; `cut`: the store is no copy of the changelog; `overtaken`: another process has a later
   *   term
   */
  async next(): Promise<
    { checkpoint: Checkpoint } | { rewrite: ReadonlySet<string> } | 'cut' | 'overtaken' | undefined
  > {
    const { kafka, store, partition, now } = this.options;
    if (store.written === 0 || now() - this.#checkedAt < EVERY_MS) return undefined;
    const at = (this.#checkedAt = now());
    const next = (await rangeOf(kafka, { topic: PROFILES, partition }))?.high ?? 0;
    const expected = this.#end + store.written;
    // A new leader may not know for a moment what is acknowledged.
    const wasShort = this.#wasShort;
    this.#wasShort = next < expected;
    if (this.#wasShort) return wasShort ? 'cut' : undefined;
    // More records come from another process, or from a request that this process sent twice.
    if (next > expected) {
      const { latest, hasVoid, users } = await this.#readTo(next);
      if (latest > this.options.term) return 'overtaken';
      this.#end += next - expected;
      if (hasVoid) return { rewrite: users };
    }
    const last = await recordAt(kafka, { topic: PROFILES, partition, offset: next - 1 });
    if (last?.offset !== next - 1) return undefined;
    this.#end = next;
    return { checkpoint: { last: markAt(nameOf(last), store.checkpoint?.last), at } };
  }

  /**
   * Returns whether another process has a later term, and this one's last records may be void. Call
   * it when they are acknowledged.
   */
  async isOvertaken(): Promise<boolean> {
    const { kafka, store, partition, term } = this.options;
    const offset = this.#end + store.written;
    const { end } = await kafka.read({ topic: PROFILES, partition, offset, maxBytes: 1 });
    if (end <= offset) return false;
    const { latest, hasVoid } = await this.#readTo(end);
    if (latest > term) return true;
    // The next step need not read them again. Void ones are left for `next`, which has them
    // replaced.
    if (!hasVoid) this.#end += end - offset;
    return false;
  }

  async #readTo(next: number): Promise<Terms> {
    const { kafka, partition, term } = this.options;
    const terms = new Terms(term);
    const section = { topic: PROFILES, partition, from: this.#end, to: next };
    for await (const { records } of scan(kafka, section)) {
      for (const record of records) terms.read(record);
    }
    return terms;
  }
}
