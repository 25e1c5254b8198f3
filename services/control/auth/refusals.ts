import { type Request } from 'express';
import { addressKey, type ClientAddress } from '../../../shared/runtime/client-address';
import { Problem, statusOf } from '../http/problem';
import { logThrottle, type BucketRate, TokenBuckets } from '../../../shared/runtime/load-limits';
import { type Log } from '../../../shared/telemetry/log';

/**
 * Logs refused requests, and limits requests without a valid token by the client's address.
 * Requests with a valid token are not limited, so strangers at the same address cannot lock anybody
 * out.
 */

/**
 * A console with an expired session sends some thirty requests together, in several tabs. A person
 * types at most one token a second.
 */
const RATE: BucketRate = { perSecond: 1, burst: 60 };
const MAX_ADDRESSES = 10_000;
/** One line for each address, token and status in this time, in ms. */
const LOG_INTERVAL_MS = 60_000;
const LOG_MAX_KEYS = 1_000;
const LOGGED: ReadonlySet<number> = new Set([401, 403, 429]);
/**
 * Without a known token these statuses count like a wrong token, since control has read the body.
 */
const COUNTED: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export interface RefusalsOptions {
  clientAddress: ClientAddress;
  log: Log;
  now: () => number;
}

export class Refusals {
  readonly #buckets = new TokenBuckets(MAX_ADDRESSES);
  readonly #mayLogStranger: (key: string) => boolean;
  /** Separate from strangers, whose addresses may outnumber the keys. */
  readonly #mayLogKnown: (key: string) => boolean;

  constructor(private readonly options: RefusalsOptions) {
    this.#mayLogStranger = logThrottle(LOG_INTERVAL_MS, LOG_MAX_KEYS);
    this.#mayLogKnown = logThrottle(LOG_INTERVAL_MS, LOG_MAX_KEYS);
  }

  /**
   * Counts and logs the response to a failed request.
   * @param token id of the request's token, if known
   * @returns the error to respond with: the same, or `rate_limited` if the address had too many
   */
  responseTo(
    error: unknown,
    req: Request,
    about: { operation: string; token: string | undefined },
  ): unknown {
    const given = Number(statusOf(error) ?? 0);
    const isLimited = given === 401 || (about.token === undefined && COUNTED.has(given));
    if (!isLimited && !LOGGED.has(given)) return error;
    const { clientAddress, log } = this.options;
    const address = clientAddress(req.socket.remoteAddress, req.get('x-forwarded-for'));
    const response = isLimited ? this.#limited(address, error) : error;
    const status = Number(statusOf(response) ?? 0);
    if (!LOGGED.has(status)) return response;
    // A failed login gets its own line beside other refusals of its address.
    const kind = about.operation === 'POST /session' ? 'login' : (about.token ?? '');
    const mayLog = about.token === undefined ? this.#mayLogStranger : this.#mayLogKnown;
    if (mayLog(`${status} ${kind} ${addressKey(address)}`)) {
      log.warn({ ...about, status, address }, 'request.refused');
    }
    return response;
  }

  #limited(address: string, refusal: unknown): unknown {
    const key = addressKey(address);
    const nowMs = this.options.now();
    const waitMs = this.#buckets.waitMs(key, RATE, nowMs);
    if (waitMs === 0) {
      this.#buckets.take(key, 1, RATE, nowMs);
      return refusal;
    }
    return new Problem(
      'rate_limited',
      'Too many requests without a valid token from this address',
      {
        headers: { 'Retry-After': String(Math.ceil(waitMs / 1_000)) },
      },
    );
  }
}
