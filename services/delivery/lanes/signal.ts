/** The effect of a result on the lane. Lanes learn nothing else of a request. */
export type Signal =
  /** a complete response: a 404 rejects the delivery, but the endpoint works */
  | { kind: 'ok' }
  /** 5xx, no connection, no name, a bad certificate */
  | { kind: 'failed' }
  /** no complete response in time */
  | { kind: 'timeout' }
  /** 429, or a 503 with `Retry-After` */
  | { kind: 'throttled'; retryAfterMs?: number }
  /** nothing was sent, or the result concerns this process rather than the endpoint */
  | { kind: 'withdrawn' };
