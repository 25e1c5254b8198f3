import { messageOf } from '../../../shared/runtime/errors';
import { logThrottle } from '../../../shared/runtime/load-limits';
import { type Log } from '../../../shared/telemetry/log';
import { type SendRequest, type SendResult } from '../http/exchange';
import { type Job, type Refusal } from '../lanes/job';
import { deliveryMetrics } from '../telemetry/metrics';
import { type HeldToken, TokenCache } from './token-cache';
import { type ClientCredentials } from '../http/client-credentials';
import { readToken, type TokenAnswer, tokenRequest } from './token-request';

/**
 * Adds a bearer token to the requests whose URL authenticates by OAuth2, and passes all others on
 * unchanged. There is one token for each credential in a process.
 *
 * Only webhooks with the same credential wait for a token, at most for the timeout of one request.
 * Without a token nothing is sent: the excuse of the result is a refusal, which spends no attempt
 * and says nothing about the endpoint. A 401 of the endpoint is followed by one more request with a
 * new token.
 */

/** Entries of credentials that no webhook has used for this long are dropped. */
const UNUSED_MS = 3_600_000;
const LOG_EVERY_MS = 60_000;
const LOGGED_CREDENTIALS = 1_000;

interface HttpSender {
  send(request: SendRequest, done: (result: SendResult) => void): void;
}

interface Entry {
  cache: TokenCache;
  waiting: Webhook[];
  usedAt: number;
  /** reason of the last failure */
  why: string;
  /** destinations whose webhooks were held since the first failure */
  held: Set<string>;
  /** the next request for a token, for which no webhook is needed */
  timer: NodeJS.Timeout | undefined;
}

/** A webhook on its way, from `send` to `done`. */
interface Webhook {
  request: SendRequest;
  credentials: ClientCredentials;
  done: (result: SendResult) => void;
  startedAt: number;
  /** ms in which it waited for tokens */
  tokenMs: number;
  waitingSince: number;
  /** the endpoint has refused a token */
  isSecond: boolean;
  /** tokens that were sent, to be masked */
  tokens: string[];
}

export class AuthorizingSender {
  readonly #entries = new Map<string, Entry>();
  readonly #mayLog = logThrottle(LOG_EVERY_MS, LOGGED_CREDENTIALS);
  #isStopped = false;
  private readonly now: () => number;
  private readonly onRecovered: (destination: string) => void;
  private readonly usesCredential: (destination: string, key: string) => boolean;

  constructor(
    private readonly inner: HttpSender,
    private readonly log: Log,
    {
      now = () => performance.now(),
      onRecovered = () => undefined,
      usesCredential = () => true,
    }: {
      now?: () => number;
      /** receives each destination whose webhooks were held, once there is a token again */
      onRecovered?: (destination: string) => void;
      /** Returns whether a destination still has the credential with this key. */
      usesCredential?: (destination: string, key: string) => boolean;
    } = {},
  ) {
    this.now = now;
    this.onRecovered = onRecovered;
    this.usesCredential = usesCredential;
  }

  /** Renews no token any more. A webhook that still waits for one gets it. */
  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
  }

  /** Calls `done` once, and never before it returns. */
  send(request: SendRequest, done: (result: SendResult) => void): void {
    const { credentials } = request;
    if (!credentials) {
      this.inner.send(request, done);
      return;
    }
    const now = this.now();
    const webhook = { request, credentials, done, startedAt: now, tokenMs: 0, waitingSince: now };
    this.#authorize({ ...webhook, isSecond: false, tokens: [] });
  }

  /**
   * Returns why a webhook with these credentials would not be sent now.
   * @param insists a user sends it now, or all that wait: it does not wait for the pause between
   *   two requests for a token
   */
  held({ key, destination }: ClientCredentials, insists?: Job['insists']): Refusal | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (insists) entry.cache.insist(insists, this.now());
    const waitMs = entry.cache.heldFor(this.now());
    if (waitMs === undefined) return undefined;
    entry.usedAt = this.now();
    entry.held.add(destination);
    return { reason: 'token', waitMs };
  }

  #authorize(webhook: Webhook): void {
    const now = this.now();
    const entry = this.#entryOf(webhook.credentials, now);
    const { cache } = entry;
    const token = cache.usable(now);
    const heldForMs = token ? undefined : cache.heldFor(now);
    const asks = cache.needsRequest(now);
    if (token) this.#post(webhook, entry, token);
    else if (heldForMs === undefined) entry.waiting.push(webhook);
    // Each turn of the event loop withholds only the webhooks that their lane had begun.
    else setImmediate(() => this.#withhold(webhook, entry.why, heldForMs));
    if (asks) {
      this.#ask(webhook.credentials, entry, tokenRequest(webhook.request, webhook.credentials));
    }
  }

  #ask(credentials: ClientCredentials, entry: Entry, request: SendRequest): void {
    entry.cache.asked();
    const answered = (answer: TokenAnswer) => {
      this.#answered(credentials, entry, answer);
      if (answer.token === undefined) this.#askLater(credentials, entry, request);
    };
    try {
      this.inner.send(request, (result) => answered(readToken(result)));
    } catch (error) {
      setImmediate(() => answered({ why: messageOf(error) }));
    }
  }

  /** Held webhooks wait in tiers, so that none of them may come to start the next request. */
  #askLater(credentials: ClientCredentials, entry: Entry, request: SendRequest): void {
    if (this.#isStopped) return;
    clearTimeout(entry.timer);
    const askAgain = () => {
      const now = this.now();
      for (const each of entry.held) {
        if (!this.usesCredential(each, credentials.key)) entry.held.delete(each);
      }
      const isUsed = entry.held.size > 0 && now - entry.usedAt < UNUSED_MS;
      if (!isUsed) return;
      if (entry.cache.needsRequest(now)) this.#ask(credentials, entry, request);
      // A timer may come a moment too early.
      else if (entry.cache.pauseMs(now) > 0) this.#askLater(credentials, entry, request);
    };
    entry.timer = setTimeout(askAgain, entry.cache.pauseMs(this.now())).unref();
  }

  #answered(credentials: ClientCredentials, entry: Entry, answer: TokenAnswer): void {
    const now = this.now();
    const { cache, waiting } = entry;
    cache.answered(answer, now);
    if (answer.token !== undefined) {
      for (const destination of entry.held) this.onRecovered(destination);
      entry.held.clear();
    }
    deliveryMetrics.tokens[answer.token === undefined ? 'failed' : 'obtained'].value++;
    if (answer.token === undefined) this.#report(credentials, entry, answer.why);
    entry.waiting = [];
    const token = cache.usable(now);
    for (const webhook of waiting) {
      webhook.tokenMs += now - webhook.waitingSince;
      if (token) this.#post(webhook, entry, token);
      else this.#withhold(webhook, entry.why, cache.heldFor(now) ?? 0);
    }
  }

  #report({ key, origin, destination }: ClientCredentials, entry: Entry, why: string): void {
    entry.why = why;
    if (this.#mayLog(key)) this.log.warn({ destination, origin, reason: why }, 'token.failed');
  }

  #post(webhook: Webhook, entry: Entry, token: HeldToken): void {
    const { request, tokens } = webhook;
    tokens.push(token.value);
    const headers = [...request.headers, 'authorization', `Bearer ${token.value}`];
    this.inner.send({ ...request, headers }, (result) => {
      const isRefused = result.ok && result.response.status === 401;
      if (result.ok && !isRefused) token.hasWorked = true;
      if (isRefused && !webhook.isSecond && entry.cache.refused(token, this.now())) {
        webhook.isSecond = true;
        webhook.waitingSince = this.now();
        this.#authorize(webhook);
        return;
      }
      // After a 401, something was sent: the attempt counts.
      if (!result.ok && result.excuse && webhook.isSecond) result.excuse = 'own_fault';
      this.#finish(webhook, result);
    });
  }

  /** After a 401, something was sent: the attempt counts, and the delivery is retried. */
  #withhold(webhook: Webhook, why: string, waitMs: number): void {
    const message = `the token endpoint gave no token: ${why}`;
    const error = { code: 'token' as const, phase: 'token' as const, message };
    this.#entries.get(webhook.credentials.key)?.held.add(webhook.credentials.destination);
    this.#finish(webhook, {
      ok: false,
      error,
      durationMs: 0,
      excuse: webhook.isSecond ? 'own_fault' : { reason: 'token', waitMs },
    });
  }

  #finish({ done, startedAt, tokenMs, tokens }: Webhook, result: SendResult): void {
    result.durationMs = Math.round(this.now() - startedAt);
    const waitedMs = Math.round(tokenMs);
    if (waitedMs > 0) result.phases = { token: waitedMs, ...result.phases };
    if (tokens.length > 0) result.masked = tokens;
    done(result);
  }

  #entryOf({ key }: ClientCredentials, now: number): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      for (const [old, { usedAt, waiting }] of this.#entries) {
        if (waiting.length === 0 && now - usedAt > UNUSED_MS) this.#entries.delete(old);
      }
      entry = {
        cache: new TokenCache(),
        waiting: [],
        usedAt: now,
        why: '',
        held: new Set(),
        timer: undefined,
      };
      this.#entries.set(key, entry);
    }
    entry.usedAt = now;
    return entry;
  }
}
