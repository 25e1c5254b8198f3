import { type IncomingMessage } from 'node:http';
import { type Source } from '../../shared/model/config';
import { addressKey, type ClientAddress } from '../../shared/service/client-address';
import { type Log } from '../../shared/telemetry/log';
import { type HttpResponse, rateLimited } from './responses';
import { type BodyOwner } from './read-body';
import { type Budgets, type Share, FairShares } from './budgets';
import { type LimitedCounts, RefusedLimit, SourceLimits, type LimitSettings } from './rate-limits';
import { logThrottle } from '../../shared/service/throttle';

/**
 * Decides which requests may use ingest now. A source has rate limits, and a fair share of the concurrent requests and
 * bodies. The same holds for the address of a request whose source is not known, but a request with a valid key is never
 * refused for its address.
 */

const LOG_INTERVAL_MS = 60_000;
const LOG_MAX_SOURCES = 1_000;

export interface AdmissionParts {
  budgets: Pick<Budgets, 'bodyBytes' | 'unknownBodyBytes' | 'requests'>;
  limits: LimitSettings;
  clientAddress: ClientAddress;
  counts: Pick<LimitedCounts, 'add'>;
  log: Log;
  /** ms since 1970 */
  now: () => number;
}

export class Admission {
  readonly #limits: SourceLimits;
  readonly #refused = new RefusedLimit();
  readonly #requests: FairShares;
  readonly #bodies: FairShares;
  readonly #unknownBodies: FairShares;
  readonly #mayLog: (source: string) => boolean;

  constructor(private readonly parts: AdmissionParts) {
    const { budgets, limits } = parts;
    this.#limits = new SourceLimits(limits);
    this.#requests = new FairShares(budgets.requests);
    this.#bodies = new FairShares(budgets.bodyBytes - budgets.unknownBodyBytes);
    this.#unknownBodies = new FairShares(budgets.unknownBodyBytes);
    this.#mayLog = logThrottle(LOG_INTERVAL_MS, LOG_MAX_SOURCES);
  }

  /** @returns a place, to be given to `leave` later; undefined if the source or the address already holds its share */
  enter(req: IncomingMessage, source: Source | undefined): Share | undefined {
    const place = this.#requests.of(source?.id ?? this.#address(req));
    return this.#requests.take(place, 1) ? place : undefined;
  }

  leave(place: Share): void {
    this.#requests.give(place, 1);
  }

  bodyOwner(req: IncomingMessage, source: Source | undefined): BodyOwner {
    const shares = source ? this.#bodies : this.#unknownBodies;
    return { shares, share: shares.of(source?.id ?? this.#address(req)) };
  }

  /** Returns the response to a request of a source over its limit; undefined if the request may continue. */
  limited(source: Source): HttpResponse | undefined {
    const waitMs = this.#limits.waitMs(source, this.parts.now());
    if (waitMs === 0) return undefined;
    this.parts.counts.add(source.id);
    if (this.#mayLog(source.id)) this.parts.log.warn({ source: source.id }, 'source.limited');
    return rateLimited(waitMs);
  }

  /** Charges calls and bytes to a source. */
  take(source: Source, calls: number, bytes: number): void {
    this.#limits.take(source, calls, bytes, this.parts.now());
  }

  /** Returns whether the address of a request with an unknown source has had too many refusals. */
  isLimited(req: IncomingMessage): boolean {
    return this.#refused.waitMs(this.#address(req), this.parts.now()) > 0;
  }

  /** Returns the response to a request of a limited address whose key was searched and not found; charges the search to the address. */
  searched(req: IncomingMessage): HttpResponse {
    const response = this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return response;
  }

  /** Returns the response to a request without a valid key: the refusal, or 429 if its address has had too many of them. */
  refused(req: IncomingMessage, refusal: HttpResponse): HttpResponse {
    // A 503 is not the client's fault.
    if (refusal.status >= 500) return refusal;
    if (this.isLimited(req)) return this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return refusal;
  }

  /** Returns the response to a wrong request, and charges its source, or its address if the source is not known. */
  faulty(
    req: IncomingMessage,
    refusal: HttpResponse,
    { source, calls = 1, bytes }: { source: Source | undefined; calls?: number | undefined; bytes: number },
  ): HttpResponse {
    if (!source) return this.refused(req, refusal);
    if (refusal.status < 500) this.take(source, calls, bytes);
    return refusal;
  }

  #rateLimited(req: IncomingMessage): HttpResponse {
    this.parts.counts.add(undefined);
    return rateLimited(this.#refused.waitMs(this.#address(req), this.parts.now()));
  }

  #address(req: IncomingMessage): string {
    const forwarded = req.headers['x-forwarded-for'];
    const address = this.parts.clientAddress(
      req.socket.remoteAddress,
      typeof forwarded === 'string' ? forwarded : undefined,
    );
    return `address ${addressKey(address)}`;
  }
}
