import { createHmac, hkdfSync, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { Periodic } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { endedSessions, type SessionKey, sessionKeys } from './store';
import { type Asking } from '../history/database';

/**
 * Sessions of browsers. A session is a signed text that names the token, the host and the end time,
 * so it outlives a restart of control. It ends at its end time, with its token, or when it is ended
 * here or in another control process.
 */

export interface Session {
  /** identifies the session */
  id: string;
  token: string;
  /** changes with the token */
  mark: string;
  /**
   * the Host it was created for, and is valid for: a page that reaches control by DNS rebinding has
   * another
   */
  host: string;
  /** ms since 1970 */
  until: number;
}

export const SESSION_MS = 12 * 3_600_000;
/** Exceeds the differences between the clocks of control processes. */
const CLOCK_SKEW_MS = 60_000;
/** A session ended by another process is refused here within this time. */
const SYNC_EVERY_MS = 2_000;
/**
 * A process alone creates the key of the next period, and writes what it could not write before.
 */
const SYNC_ALONE_MS = 60_000;

export interface SessionsOptions {
  history: Asking;
  /** as WAYPOST_SECRET_KEY; sessions of each key are accepted */
  secretKeys: readonly Buffer[];
  adminToken: string;
  /** no other process uses the database */
  isOnlyProcess: boolean;
  now: () => number;
  log: Log;
}

export class Sessions {
  readonly #keys: SessionKeys;
  /** id → regular end, ms since 1970 */
  readonly #ended = new Map<string, number>();
  /** ended here, not yet written to the database */
  readonly #unwritten = new Map<string, number>();
  readonly #syncing: Periodic;

  constructor(private readonly options: SessionsOptions) {
    const everyMs = options.isOnlyProcess ? SYNC_ALONE_MS : SYNC_EVERY_MS;
    this.#syncing = new Periodic(everyMs, () => this.#sync());
    this.#keys = new SessionKeys(options.secretKeys, options.adminToken);
  }

  /** Reads keys and ended sessions before the first request, and follows both. */
  async start(): Promise<void> {
    await this.sync();
    this.#syncing.start();
  }

  stop(): Promise<void> {
    return this.#syncing.end();
  }

  /**
   * Exchanges ended sessions with the database. Never throws: without a database it uses those it
   * knows.
   */
  sync(): Promise<void> {
    return this.#syncing.now();
  }

  /** @returns the value of the cookie */
  begin({ token, mark, host, until }: Omit<Session, 'id'>): string {
    const fields = [randomUUID(), token, mark, host, until];
    const text = Buffer.from(JSON.stringify(fields)).toString('base64url');
    return `${text}.${this.#keys.sign(text, this.options.now())}`;
  }

  /**
   * @returns undefined for a text without a valid signature, for an ended session, and for another
   *   host
   */
  read(given: string, host: string): Session | undefined {
    const [text = '', signature = ''] = given.split('.');
    if (!this.#keys.verify(text, signature)) return undefined;
    const fields = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
      string,
      string,
      string,
      string,
      number,
    ];
    const [id, token, mark, of, until] = fields;
    const leftMs = until - this.options.now();
    if (of !== host || this.#ended.has(id) || leftMs <= 0 || leftMs > SESSION_MS + CLOCK_SKEW_MS) {
      return undefined;
    }
    return { id, token, mark, host: of, until };
  }

  /**
   * Ends a session: in this process immediately, in others within seconds after it is in the
   * database.
   * @returns whether it is in the database; otherwise it is written when the database is back
   */
  async end({ id, until }: Session): Promise<boolean> {
    this.#ended.set(id, until);
    this.#unwritten.set(id, until);
    await this.sync();
    return !this.#unwritten.has(id);
  }

  async #sync(): Promise<void> {
    const { history, log, now } = this.options;
    const nowMs = now();
    for (const ended of [this.#ended, this.#unwritten]) {
      for (const [id, until] of ended) if (until <= nowMs) ended.delete(id);
    }
    const unwritten = Array.from(this.#unwritten, ([id, until]) => ({ id, until }));
    try {
      const { keys, ended } = await history.ask(async (database) => ({
        keys: await sessionKeys(
          database,
          SessionKeys.make(nowMs),
          nowMs - SESSION_MS - CLOCK_SKEW_MS,
        ),
        ended: await endedSessions(database, unwritten, nowMs),
      }));
      this.#keys.use(keys);
      for (const { id, until } of ended) this.#ended.set(id, until);
      for (const { id } of unwritten) this.#unwritten.delete(id);
    } catch (error) {
      const level = unwritten.length > 0 ? 'warn' : 'debug';
      log[level]({ unwritten: unwritten.length, reason: messageOf(error) }, 'sessions.not_synced');
    }
  }
}

const PERIOD_MS = 30 * 86_400_000;
/**
 * All control processes read a new key within seconds. If it signed earlier, some would refuse its
 * sessions.
 */
const SIGNS_AFTER_MS = 60_000;

/**
 * Keys that sign sessions. Each combines two secrets, so that neither alone opens the control API:
 * a random key that only control's database holds, and WAYPOST_SECRET_KEY, which delivery holds
 * too.
 *
 * Until control has reached its database once, the admin token replaces the random key: all control
 * processes know it, and its holder may do everything anyway.
 */
class SessionKeys {
  #ring: SessionKey[] = [];
  /** signing keys of each key of the ring, the newest first, one for each secret key */
  #derived: { madeAt: number; keys: Buffer[] }[] = [];
  readonly #fallback: Buffer[];

  constructor(
    private readonly secretKeys: readonly Buffer[],
    adminToken: string,
  ) {
    this.#fallback = secretKeys.map((salt) =>
      derive(adminToken, salt, 'waypost session without a database'),
    );
  }

  /** Creates a key for the current period, for a database without one. */
  static make(nowMs: number): SessionKey {
    return {
      period: Math.floor(nowMs / PERIOD_MS),
      madeAt: nowMs,
      key: randomBytes(32).toString('base64'),
    };
  }

  /** Uses the keys of the database, the newest first. */
  use(ring: SessionKey[]): void {
    if (
      ring.length === this.#ring.length &&
      ring.every(({ key }, i) => key === this.#ring[i]?.key)
    ) {
      return;
    }
    this.#ring = ring;
    this.#derived = ring.map(({ madeAt, key }) => ({
      madeAt,
      keys: this.secretKeys.map((salt) =>
        derive(Buffer.from(key, 'base64'), salt, 'waypost session'),
      ),
    }));
  }

  sign(text: string, nowMs: number): string {
    const known =
      this.#derived.find(({ madeAt }) => madeAt <= nowMs - SIGNS_AFTER_MS) ?? this.#derived.at(-1);
    const [first = Buffer.alloc(0)] = known?.keys ?? this.#fallback;
    return hmac(first, text).toString('base64url');
  }

  verify(text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url');
    const keys = [...this.#derived.flatMap((each) => each.keys), ...this.#fallback];
    return keys.some((key) => {
      const wanted = hmac(key, text);
      return wanted.length === given.length && timingSafeEqual(wanted, given);
    });
  }
}

function derive(secret: string | Buffer, salt: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
