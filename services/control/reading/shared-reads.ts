import { type Fetched, type Kafka, type ReadAt } from '../../../shared/kafka/port';

/**
 * Fetches a part of a topic once for all of its readers, while they are at most a few seconds
 * apart. A reader that lags more fetches for itself.
 */

/** Longer than the slowest reader pauses. */
const KEPT_MS = 10_000;
const KEPT_BYTES = 8 * 1024 * 1024;

interface Kept {
  fetched: Promise<Fetched>;
  atMs: number;
  bytes: number;
}

export class SharedReads {
  /** by partition and offset, the oldest first */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @param steadyMs ms, by a clock that never jumps */
  constructor(
    private readonly kafka: Pick<Kafka, 'read'>,
    private readonly steadyMs: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the records from an offset on. `end` is Infinity if they were fetched before, because
   * the end may have moved since.
   * @throws AppError `kafka_unavailable`
   */
  async read(at: ReadAt): Promise<Fetched> {
    this.#drop();
    const key = `${at.topic}/${at.partition}/${at.offset}`;
    const known = this.#kept.get(key);
    if (known) return { ...(await known.fetched), end: Infinity };
    const kept: Kept = { fetched: this.kafka.read(at), atMs: this.steadyMs(), bytes: 0 };
    this.#kept.set(key, kept);
    try {
      const fetched = await kept.fetched;
      kept.bytes = fetched.records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
      if (this.#kept.get(key) === kept) this.#bytes += kept.bytes;
      if (fetched.records.length === 0) this.#forget(key);
      return fetched;
    } catch (error) {
      this.#forget(key);
      throw error;
    }
  }

  #drop(): void {
    for (const [key, { atMs }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES && this.steadyMs() - atMs < KEPT_MS) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}
