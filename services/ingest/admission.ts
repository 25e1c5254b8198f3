import { type IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { type Source } from '../../shared/model/config';
import { addressKey, type ClientAddress } from '../../shared/runtime/client-address';
import { type ProcessLimits } from '../../shared/runtime/process-limits';
import { FairShares, type Share } from '../../shared/collections/fair-shares';
import { type Log } from '../../shared/telemetry/log';
import { type HttpResponse, rateLimited } from './responses';
import { RefusedLimit, RejectedLimit, SourceLimits, type LimitSettings } from './rate-limits';
import { type UnrecordedCounts } from './unrecorded-counts';
import { logThrottle } from '../../shared/runtime/load-limits';

/**
 * Decides which requests may use ingest now. A source has rate limits, and a fair share of the
 * concurrent requests and bodies. The same holds for the address of a request whose source is not
 * known, but a request with a valid key is never refused for its address.
 *
 * The budgets for these shares follow from the memory and the open files of the process. A stalled
 * Kafka must lead to 503 and not to an out-of-memory kill.
 */

const LOG_INTERVAL_MS = 60_000;
const LOG_MAX_SOURCES = 1_000;

/** The owner's share of the budget, which holds the bytes of a body while it is read. */
export interface BodyOwner {
  shares: FairShares;
  share: Share;
}

export interface AdmissionParts {
  budgets: Pick<Budgets, 'bodyBytes' | 'unknownBodyBytes' | 'requests'>;
  limits: LimitSettings;
  clientAddress: ClientAddress;
  counts: Pick<UnrecordedCounts, 'addLimited'>;
  log: Log;
  /** ms since 1970 */
  now: () => number;
}

export class Admission {
  readonly #limits: SourceLimits;
  readonly #rejected = new RejectedLimit();
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

  /**
   * @returns a slot, to be given to `leave` later; undefined if the source or the address already
   *   holds its share
   */
  enter(req: IncomingMessage, source: Source | undefined): Share | undefined {
    const slot = this.#requests.of(source?.id ?? this.#address(req));
    return this.#requests.take(slot, 1) ? slot : undefined;
  }

  leave(slot: Share): void {
    this.#requests.give(slot, 1);
  }

  bodyOwner(req: IncomingMessage, source: Source | undefined): BodyOwner {
    const shares = source ? this.#bodies : this.#unknownBodies;
    return { shares, share: shares.of(source?.id ?? this.#address(req)) };
  }

  /**
   * Returns the response to a request of a source over its limit; undefined if the request may
   * continue.
   */
  limited(source: Source): HttpResponse | undefined {
    const waitMs = this.#limits.waitMs(source, this.parts.now());
    if (waitMs === 0) return undefined;
    this.parts.counts.addLimited(source.id);
    if (this.#mayLog(source.id)) this.parts.log.warn({ source: source.id }, 'source.limited');
    return rateLimited(waitMs);
  }

  /** Charges calls and bytes to a source. */
  take(source: Source, calls: number, bytes: number): void {
    this.#limits.take(source, calls, bytes, this.parts.now());
  }

  /** Charges rejected calls to a source. @returns how many of them may be stored one by one */
  takeRejected(source: Source, calls: number): number {
    return this.#rejected.take(source.id, calls, this.parts.now());
  }

  /** Returns whether the address of a request with an unknown source has had too many refusals. */
  isLimited(req: IncomingMessage): boolean {
    return this.#refused.waitMs(this.#address(req), this.parts.now()) > 0;
  }

  /**
   * Returns the response to a request of a limited address whose key was searched and not found;
   * charges the search to the address.
   */
  searched(req: IncomingMessage): HttpResponse {
    const response = this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return response;
  }

  /**
   * Returns the response to a request without a valid key: the refusal, or 429 if its address has
   * had too many of them.
   */
  refused(req: IncomingMessage, refusal: HttpResponse): HttpResponse {
    // A 503 is not the client's fault.
    if (refusal.status >= 500) return refusal;
    if (this.isLimited(req)) return this.#rateLimited(req);
    this.#refused.take(this.#address(req), this.parts.now());
    return refusal;
  }

  /**
   * Returns the response to a wrong request, and charges its source, or its address if the source
   * is not known.
   */
  faulty(
    req: IncomingMessage,
    refusal: HttpResponse,
    {
      source,
      calls = 1,
      bytes,
    }: { source: Source | undefined; calls?: number | undefined; bytes: number },
  ): HttpResponse {
    if (!source) return this.refused(req, refusal);
    if (refusal.status < 500) this.take(source, calls, bytes);
    return refusal;
  }

  #rateLimited(req: IncomingMessage): HttpResponse {
    this.parts.counts.addLimited(undefined);
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

export interface Resources {
  /** limit of the container, or memory of the machine; bytes */
  limit: number;
  /** V8's limit on its heap, bytes */
  heap: number;
  /** Infinity if unlimited or unknown */
  openFiles: number;
}

export interface Budgets {
  /** text of the records that wait for Kafka, bytes */
  pendingBytes: number;
  /** bodies being read, bytes */
  bodyBytes: number;
  /** part of `bodyBytes` for bodies whose source is not known yet, bytes */
  unknownBodyBytes: number;
  /** requests in progress */
  requests: number;
  connections: number;
}

const MB = 1024 * 1024;
/** Files for anything but clients: brokers, probes, logs. */
const OTHER_FILES = 200;

export function resourcesOf({ memoryBytes: limit, openFiles }: ProcessLimits): Resources {
  return { limit, heap: Math.min(getHeapStatistics().heap_size_limit, limit), openFiles };
}

export function budgetsOf({ limit, heap, openFiles }: Resources): Budgets {
  // Bodies are buffers outside the heap, like Node's code and the sockets' memory.
  const besideHeap = Math.max(limit - heap, limit / 8);
  const bodyBytes = between(besideHeap / 4, 4 * MB, 256 * MB);
  return {
    // A record that waits for Kafka takes 2.7 times its text in the heap. 96 MB are four seconds of
    // 25,000 calls of 1 KB; further calls would be answered too late anyway.
    pendingBytes: between(heap / 10, 4 * MB, 96 * MB),
    bodyBytes,
    unknownBodyBytes: bodyBytes / 4,
    // About 20 KB for request, response and the framework's objects, without bodies and records.
    requests: between(heap / (64 * 1024), 500, 5_000),
    // With the last files, brokers are reached again.
    connections: Math.min(
      between(heap / (32 * 1024), 1_000, 20_000),
      Math.max(openFiles - OTHER_FILES, Math.ceil(openFiles / 2)),
    ),
  };
}

function between(value: number, least: number, most: number): number {
  return Math.floor(Math.min(most, Math.max(least, value)));
}
