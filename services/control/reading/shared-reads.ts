import { type Fetched, type Kafka, type ReadAt } from '../../../shared/kafka/port';

/**
 * Fetches a part of a topic once for all of its readers, while they are at most a few seconds
 * apart. A reader that lags more fetches for itself.
 */

/** Longer than the slowest reader pauses. */
const KEPT_MS = 10_000;
const KEPT_BYTES = 8 * 1024 * 1024;
/** Wait of an idle reader: an empty answer wakes the broker and this process for nothing. */
const WAIT_MS = 5_000;

interface KeptRead {
  fetched: Promise<Fetched>;
  /** by `performance.now()` */
  atMs: number;
  bytes: number;
}

export class SharedReads {
  /** by `keyOf`, the oldest first */
  readonly #kept = new Map<string, KeptRead>();
  #bytes = 0;
  /** fetches that wait for a record, by `keyOf` */
  readonly #waiting = new Map<string, Promise<Fetched>>();

  constructor(private readonly kafka: Pick<Kafka, 'read'>) {}

  /**
   * Returns the records from an offset on. `end` is Infinity if they were fetched before, because
   * the end may have moved since.
   * @throws AppError `kafka_unavailable`
   */
  async read(at: ReadAt): Promise<Fetched> {
    this.#drop();
    const key = keyOf(at);
    const known = this.#kept.get(key);
    if (known) return { ...(await known.fetched), end: Infinity };
    const kept: KeptRead = { fetched: this.kafka.read(at), atMs: performance.now(), bytes: 0 };
    this.#kept.set(key, kept);
    try {
      const fetched = await kept.fetched;
      kept.bytes = bytesOf(fetched);
      if (this.#kept.get(key) === kept) this.#bytes += kept.bytes;
      if (fetched.records.length === 0) this.#forget(key);
      return fetched;
    } catch (error) {
      this.#forget(key);
      throw error;
    }
  }

  /**
   * Reads at the ends of partitions once one of them has a record, and in any case after some
   * seconds or the signal. Never throws: the next `read` says what is wrong.
   * @returns by `keyOf`, without the partitions that have not answered
   */
  async next(ats: readonly ReadAt[], signal: AbortSignal): Promise<ReadonlyMap<string, Fetched>> {
    const answered = new Map<string, Fetched>();
    if (signal.aborted) return answered;
    await new Promise<void>((resolve) => {
      const end = () => resolve();
      signal.addEventListener('abort', end);
      const waits = ats.map(async (at) => {
        const fetched = await this.#wait(at).catch(() => undefined);
        if (!fetched) return;
        answered.set(keyOf(at), fetched);
        if (fetched.records.length > 0 || fetched.gone) end();
      });
      void Promise.all(waits).then(() => {
        signal.removeEventListener('abort', end);
        end();
      });
    });
    // The other partitions of a response are answered in the same turn.
    await new Promise((resolve) => setImmediate(resolve));
    return new Map(answered);
  }

  /** Forgets what was fetched of a partition, because its log was cut. */
  forget(topic: string, partition: number): void {
    const prefix = `${topic}/${String(partition)}/`;
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#forget(key);
  }

  /** Readers at the same position share a wait. */
  #wait(at: ReadAt): Promise<Fetched> {
    const key = keyOf(at);
    const known = this.#waiting.get(key);
    if (known) return known;
    const fetched = this.kafka
      .read({ ...at, waitMs: WAIT_MS })
      .then((found) => {
        if (found.records.length > 0 && !this.#kept.has(key)) this.#keep(key, found);
        return found;
      })
      .finally(() => this.#waiting.delete(key));
    this.#waiting.set(key, fetched);
    return fetched;
  }

  #keep(key: string, fetched: Fetched): void {
    const bytes = bytesOf(fetched);
    this.#kept.set(key, { fetched: Promise.resolve(fetched), atMs: performance.now(), bytes });
    this.#bytes += bytes;
  }

  #drop(): void {
    for (const [key, { atMs }] of this.#kept) {
      if (this.#bytes <= KEPT_BYTES && performance.now() - atMs < KEPT_MS) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** Names a position in a topic. */
export function keyOf({ topic, partition, offset }: ReadAt): string {
  return `${topic}/${String(partition)}/${String(offset)}`;
}

function bytesOf({ records }: Fetched): number {
  return records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
}
