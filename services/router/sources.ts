import { type ConfigReader } from '../../shared/config/view';

/**
 * Tells a source that this process has not heard of yet from one that is gone. Ingest may know a new source some
 * milliseconds earlier: to drop its first messages for that would lose what was acknowledged.
 *
 * A source is gone once all of `config`, as it stood after a message of it was met, was read and did not name it. Ids
 * are never used again, so that gone is for good.
 */
export class Sources {
  /** When to offer the record again while `config` is read. */
  static readonly LOOK_AGAIN_MS = 50;
  static readonly #DEADLINE_MS = 5_000;
  static readonly #MAX_GONE = 10_000;

  readonly #gone = new Set<string>();
  readonly #asked = new Set<string>();

  constructor(private readonly config: Pick<ConfigReader, 'source' | 'refresh'>) {}

  /** To be asked about a source that `config` does not name. False: not known yet, ask again shortly. */
  isGone(sourceId: string): boolean {
    if (this.#gone.has(sourceId)) return true;
    if (!this.#asked.has(sourceId)) {
      this.#asked.add(sourceId);
      this.config.refresh(Sources.#DEADLINE_MS).then(
        () => this.#settle(sourceId),
        // Kafka is away: the next question looks again.
        () => this.#asked.delete(sourceId),
      );
    }
    return false;
  }

  #settle(sourceId: string): void {
    this.#asked.delete(sourceId);
    if (this.config.source(sourceId) !== undefined) return;
    // Forgetting costs one more look each.
    if (this.#gone.size >= Sources.#MAX_GONE) this.#gone.clear();
    this.#gone.add(sourceId);
  }
}
