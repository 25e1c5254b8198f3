import { type TokenAnswer } from './token-request';

/**
 * The token of one credential: when it may be used, when it is refreshed, and for how long a
 * failure holds the webhooks. Pure: the time, in ms by a steady clock, is an argument.
 *
 * - A token is refreshed during the last fifth of its life, while it is still used.
 * - One request for a token runs at a time. Webhooks wait for the first request. After a failure
 *   they are held. One of them, or a timer (authorizing-sender.ts), starts the next request.
 * - A token that the endpoint refuses is replaced, unless it has replaced a refused one itself and
 *   never worked: the endpoint then refuses the client, and a token for each webhook would not
 *   help.
 */

const REFRESH_AT = 0.8;
/** Earliest end of use before the token expires: it must survive its way to the endpoint. */
const MARGIN_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
/** The end of an outage is noticed within this time. */
const LONGEST_PAUSE_MS = 8_000;
/** The token endpoint refuses the client: somebody must change the settings. */
const LONGEST_REFUSED_PAUSE_MS = 30_000;
const REFUSED_FOR_MS = 60_000;
const INSISTS_EVERY_MS = 1_000;

export interface HeldToken {
  readonly value: string;
  readonly obtainedAt: number;
  readonly refreshAt: number;
  readonly usableUntil: number;
  /** it replaced a token that the endpoint refused */
  readonly isReplacement: boolean;
  /** the endpoint accepted it */
  hasWorked: boolean;
}

export class TokenCache {
  #token: HeldToken | undefined;
  #isAsking = false;
  #failingSince: number | undefined;
  #askAgainAt = -Infinity;
  #pauseMs = FIRST_PAUSE_MS;
  #insistedAt = -Infinity;
  #replacesRefused = false;

  /** Returns the token if it may be used now. */
  usable(now: number): HeldToken | undefined {
    return this.#token && now < this.#token.usableUntil ? this.#token : undefined;
  }

  /** Returns whether a token must be requested now. */
  needsRequest(now: number): boolean {
    if (this.#isAsking || now < this.#askAgainAt) return false;
    return !this.#token || now >= this.#token.refreshAt;
  }

  /**
   * Returns for how long webhooks are held, ms since the first failure; undefined: they may be sent
   * or wait for the token.
   */
  heldFor(now: number): number | undefined {
    if (this.#failingSince === undefined || this.usable(now)) return undefined;
    return this.needsRequest(now) ? undefined : now - this.#failingSince;
  }

  /** Returns the rest of the pause after a failure, ms. */
  pauseMs(now: number): number {
    return Math.max(0, this.#askAgainAt - now);
  }

  /**
   * Ends the pause after a failure: a user sends a webhook now.
   * @param how sometimes: the user sends many at once, and one of them ends the pause each second
   */
  insist(how: 'always' | 'sometimes', now: number): void {
    if (how === 'sometimes' && now < this.#insistedAt + INSISTS_EVERY_MS) return;
    this.#insistedAt = now;
    this.#askAgainAt = -Infinity;
  }

  asked(): void {
    this.#isAsking = true;
  }

  answered(answer: TokenAnswer, now: number): void {
    this.#isAsking = false;
    if (answer.token === undefined) {
      this.#failingSince ??= now;
      this.#askAgainAt = now + this.#pauseMs;
      this.#pauseMs = Math.min(
        2 * this.#pauseMs,
        answer.isRefusal ? LONGEST_REFUSED_PAUSE_MS : LONGEST_PAUSE_MS,
      );
      return;
    }
    const { token: value, lifetimeMs } = answer;
    const usableUntil = now + lifetimeMs - Math.min(MARGIN_MS, lifetimeMs * (1 - REFRESH_AT) * 0.5);
    const isReplacement = this.#replacesRefused;
    const refreshAt = now + lifetimeMs * REFRESH_AT;
    this.#token = {
      value,
      obtainedAt: now,
      refreshAt,
      usableUntil,
      isReplacement,
      hasWorked: false,
    };
    this.#replacesRefused = false;
    this.#failingSince = undefined;
    this.#askAgainAt = -Infinity;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /**
   * The endpoint answered 401 to this token. @returns whether the request should be sent once more,
   * with another token
   */
  refused(token: HeldToken, now: number): boolean {
    if (this.#token !== token) return true;
    if (token.isReplacement && !token.hasWorked && now - token.obtainedAt < REFUSED_FOR_MS) {
      return false;
    }
    this.#token = undefined;
    this.#replacesRefused = true;
    return true;
  }
}
