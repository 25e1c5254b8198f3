import { type IncomingMessage } from 'node:http';
import { type Source } from '../../shared/model/config';
import { addressKey, type ClientAddress } from '../../shared/service/client-address';
import { type Log } from '../../shared/telemetry/log';
import { type HttpResponse, rateLimited } from './responses';
import { type BodyOwner } from './read-body';
import { type Budgets } from './memory-budgets';
import { type LimitedCounts } from './limited-counts';
import { RefusedLimit, SourceLimits, type LimitSettings } from './rate-limits';
import { logThrottle } from '../../shared/service/log-throttle';
import { type Share, FairShares } from './fair-share';

/**
 * Who may use how much of ingest. A source has limits of rate, and a share of the requests and bodies at work; so has the
 * address of a request whose source is not known, but a request with a valid key is never refused for its address.
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
    const { budgets, limits, now } = parts;
    this.#limits = new SourceLimits(limits);
    this.#requests = new FairShares(budgets.requests);
    this.#bodies = new FairShares(budgets.bodyBytes - budgets.unknownBodyBytes);
    this.#unknownBodies = new FairShares(budgets.unknownBodyBytes);
    this.#mayLog = logThrottle(LOG_INTERVAL_MS, LOG_MAX_SOURCES, now);
  }

  /** @returns a place that is to be left again; undefined where the source or the address has its share already */
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

  /** The answer to a request of a source that is over its limit; undefined: it may go on. */
  limited(source: Source): HttpResponse | undefined {
    const waitMs = this.#limits.waitMs(source, this.parts.now());
    if (waitMs === 0) return undefined;
    this.parts.counts.add(source.id);
    if (this.#mayLog(source.id)) this.parts.log.warn({ source: source.id }, 'source.limited');
    return rateLimited(waitMs);
  }

  /** Counts what was read of a source. */
  take(source: Source, calls: number, bytes: number): void {
    this.#limits.take(source, calls, bytes, this.parts.now());
  }

  /** Whether the address of a request whose source is unknown has had too many refusals. */
  isLimited(req: IncomingMessage): boolean {
    return this.#refused.waitMs(this.#address(req), this.parts.now()) > 0;
  }

  /** The answer to a request of a limited address whose key is searched for and not found; the address pays for the search. */
  searched(req: IncomingMessage): HttpResponse {
    const answer = this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return answer;
  }

  /** The answer to a request without a valid key: the refusal, or 429 where its address has had too many of them. */
  refused(req: IncomingMessage, refusal: HttpResponse): HttpResponse {
    // A 503 is not the client's fault.
    if (refusal.status >= 500) return refusal;
    if (this.isLimited(req)) return this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return refusal;
  }

  /** The answer to a request that is wrong: it counts for its source, or for its address where that is not known. */
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
