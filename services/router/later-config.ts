import { type ConfigReader } from '../../shared/config/types';

/**
 * Tells whether the writer of a message knew more of `config` than this router does. Then a
 * decision waits: a destination that was made before the call, and that the router would deliver
 * to a moment later, must not miss it.
 *
 * A position that `config` does not reach once it was read to its end is waited for only once: the
 * topic was cut or restored, or its last record was a deletion that compaction has removed.
 */
export class LaterConfig {
  /**
   * positions that `config` does not reach, as of `#changes`; one or two for each ingest process
   */
  readonly #unreachable = new Set<number>();
  #changes = 0;

  constructor(private readonly config: Pick<ConfigReader, 'position' | 'changes'>) {}

  /** @param current `config` was read to its end after the message had arrived */
  isAwaited(position: number | undefined, current: boolean): boolean {
    if (position === undefined || position <= this.config.position) return false;
    if (this.#changes !== this.config.changes) {
      this.#changes = this.config.changes;
      this.#unreachable.clear();
    }
    if (current) this.#unreachable.add(position);
    return !this.#unreachable.has(position);
  }
}
