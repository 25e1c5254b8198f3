import { Periodic } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { recordTokenUses, type TokenTimes, tokenUses } from './store';
import { type Asking } from '../history/database';

/**
 * Stores when tokens were last used, to the minute. In the database, since `config` would grow with
 * each use.
 */

const MINUTE_MS = 60_000;
const WRITE_EVERY_MS = 15_000;

export class TokenUses {
  /** by token id: ms since 1970 */
  readonly #known = new Map<string, number>();
  #unwritten = new Map<string, number>();
  readonly #writing = new Periodic(WRITE_EVERY_MS, () => this.#write());

  constructor(
    private readonly history: Asking,
    private readonly now: () => number,
    private readonly log: Log,
  ) {}

  start(): void {
    this.#writing.start();
  }

  stop(): Promise<void> {
    return this.#writing.end();
  }

  /** Called for each request. */
  note(token: string): void {
    const minute = this.now() - (this.now() % MINUTE_MS);
    if (this.#known.get(token) === minute) return;
    this.#known.set(token, minute);
    this.#unwritten.set(token, minute);
  }

  /**
   * Returns last uses by token id. While the database is away: the uses that this process has seen.
   */
  async all(): Promise<TokenTimes> {
    const stored = await this.history.ask(tokenUses).catch((): TokenTimes => new Map());
    const all = new Map(stored);
    for (const [token, at] of this.#known) all.set(token, Math.max(at, all.get(token) ?? 0));
    return all;
  }

  /** Never throws: uses that could not be written wait. */
  async #write(): Promise<void> {
    const unwritten = this.#unwritten;
    if (unwritten.size === 0) return;
    this.#unwritten = new Map();
    try {
      await this.history.ask((database) => recordTokenUses(database, unwritten));
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'tokens.uses_not_written');
      this.#unwritten = new Map([...unwritten, ...this.#unwritten]);
    }
  }
}
