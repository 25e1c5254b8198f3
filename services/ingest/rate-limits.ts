import { MAX_ENTRIES, type Source } from '../../shared/model/config';
import { type BucketRate, TokenBuckets } from '../../shared/runtime/load-limits';

/**
 * Limits the calls and bytes of each source, its rejected calls that are stored one by one, and the
 * refused requests of each address.
 */

/** Default byte limit of a source, in bytes a second for each call a second. */
const BYTES_PER_CALL = 2_048;
const DEFAULT_BURST_MS = 10_000;

/**
 * Limit of refused requests of one address. A refusal costs about 0.1 ms; many people may share an
 * address with one client whose key is wrong.
 */
const REFUSED: BucketRate = { perSecond: 5, burst: 100 };
const MAX_ADDRESSES = 10_000;
/** Caps the debt of an address, which clients that send few requests may share. */
const MAX_WAIT_MS = 60_000;

export interface LimitSettings {
  /** default limit of a source, calls a second */
  maxPerSecond: number;
  /** ingest processes that share the limits */
  processes: number;
}

export class SourceLimits {
  // No bucket of a source is ever dropped.
  readonly #calls = new TokenBuckets(MAX_ENTRIES);
  readonly #bytes = new TokenBuckets(MAX_ENTRIES);

  constructor(private readonly settings: LimitSettings) {}

  /** Returns the ms until the source may send again; 0: now. */
  waitMs(source: Source, nowMs: number): number {
    return Math.max(
      this.#calls.waitMs(source.id, this.#callRate(source), nowMs),
      this.#bytes.waitMs(source.id, this.#byteRate(source), nowMs),
    );
  }

  /** Charges a request; one beyond the limit closes the source until its debt is paid. */
  take(source: Source, calls: number, bytes: number, nowMs: number): void {
    this.#calls.take(source.id, calls, this.#callRate(source), nowMs);
    this.#bytes.take(source.id, bytes, this.#byteRate(source), nowMs);
  }

  #callRate({ limits }: Source): BucketRate {
    return this.#share(limits?.maxPerSecond ?? this.settings.maxPerSecond, limits?.burstMs);
  }

  #byteRate({ limits }: Source): BucketRate {
    const bytes =
      limits?.maxBytesPerSecond ??
      (limits?.maxPerSecond ?? this.settings.maxPerSecond) * BYTES_PER_CALL;
    return this.#share(bytes, limits?.burstMs);
  }

  #share(total: number, burstMs = DEFAULT_BURST_MS): BucketRate {
    const perSecond = total / this.settings.processes;
    return { perSecond, burst: (perSecond * burstMs) / 1_000 };
  }
}

/**
 * Limit of the rejected calls of a source that are stored one by one. A body of 10 KB can hold
 * 5,000 of them, and Kafka stores and control reads each. A burst is all that the debugger keeps of
 * a source; nobody reads more than twenty a second. Each process has its own limit.
 */
const REJECTED_ONE_BY_ONE: BucketRate = { perSecond: 20, burst: 500 };

export class RejectedLimit {
  readonly #buckets = new TokenBuckets(MAX_ENTRIES);

  /** Charges rejected calls of a source. @returns how many of them may be stored one by one */
  take(source: string, calls: number, nowMs: number): number {
    return this.#buckets.takeUpTo(source, calls, REJECTED_ONE_BY_ONE, nowMs);
  }
}

export class RefusedLimit {
  readonly #buckets = new TokenBuckets(MAX_ADDRESSES);

  /**
   * @param address as `addressKey` writes it. @returns ms until this address gets the reason of a
   *   refusal again; 0: now
   */
  waitMs(address: string, nowMs: number): number {
    return this.#buckets.waitMs(address, REFUSED, nowMs);
  }

  take(address: string, nowMs: number): void {
    if (this.waitMs(address, nowMs) > MAX_WAIT_MS) return;
    this.#buckets.take(address, 1, REFUSED, nowMs);
  }
}
