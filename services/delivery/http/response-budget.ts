import { type BucketRate, TokenBuckets } from '../../../shared/runtime/load-limits';
import { type Classification } from '../../../shared/model/attempt-events';

/**
 * Bounds the bytes of responses that endpoints make Waypost store in Kafka and in the history: for
 * each destination, and for all of them together, since anyone with many endpoints could fill the
 * disk otherwise. A response is charged as the JSON that its event contains. Each delivery process
 * has its own budget, so that two of them store twice as much.
 */

const KIB = 1024;
export const OF_DESTINATION: BucketRate = { perSecond: 16 * KIB, burst: 1024 * KIB };
export const OF_ALL: BucketRate = { perSecond: 256 * KIB, burst: 16 * 1024 * KIB };
const ALL = 'all';

/**
 * A success leaves this share of the budgets to failures and tests, whose responses somebody reads:
 * a busy destination would otherwise have none left when it begins to fail.
 */
const SHARE_FOR_FAILURES = 0.5;

/** Beyond it a destination is forgotten, and has its whole budget again. */
const MAX_DESTINATIONS = 10_000;

/** A response that may be stored. */
interface Storable {
  destinationId: string;
  isTest: boolean;
  classification: Classification;
  bytes: number;
}

export class ResponseBudget {
  readonly #ofDestination = new TokenBuckets(MAX_DESTINATIONS);
  readonly #ofAll = new TokenBuckets(1);

  /** Charges a response, if both budgets have room for it. @returns whether it may be stored */
  takes({ destinationId, isTest, classification, bytes }: Storable, nowMs: number): boolean {
    const leaves = classification === 'delivered' && !isTest ? SHARE_FOR_FAILURES : 0;
    const needs = ({ burst }: BucketRate) => bytes + leaves * burst;
    const hasRoom =
      this.#ofDestination.holds(destinationId, needs(OF_DESTINATION), OF_DESTINATION, nowMs) &&
      this.#ofAll.holds(ALL, needs(OF_ALL), OF_ALL, nowMs);
    if (!hasRoom) return false;
    this.#ofDestination.take(destinationId, bytes, OF_DESTINATION, nowMs);
    this.#ofAll.take(ALL, bytes, OF_ALL, nowMs);
    return true;
  }
}
