/** What a lane is given, and what it says to it. */
export interface Job {
  /** what it is for: where that is leaving, there is no point in waiting */
  readonly record: { readonly isRevoking: boolean };
  /** counted against the lane's share of memory */
  readonly bytes: number;
  /** a due retry, not a first attempt */
  readonly due: boolean;
  /** a test send: neither waits nor is refused while there is a socket for it */
  readonly urgent?: boolean;
  /** Takes a place of the lane: call `Lane.ended` when it is free again. */
  start(): void;
  /** It was queued, and must leave; without a refusal: since its record does. May offer other jobs. */
  refuse(refusal?: Refusal): void;
}

/** Why a lane does not take a job, or gives it back. */
export interface Refusal {
  /** `rate_limited`: the lane is full, and its `maxPerSecond` is what holds it back */
  reason: 'lane_full' | 'rate_limited' | 'circuit_open' | 'retry_after';
  /** how long it would wait; for `circuit_open`: how long the circuit has been open; ms */
  waitMs: number;
}

export type Offer = 'started' | 'queued' | Refusal;
