/** What an answer, or the lack of one, says about the endpoint: all that lanes hear of it. */
export type Signal =
  /** a complete answer, whatever it says of the delivery: a 404 is no failure of the endpoint */
  | { kind: 'ok' }
  /** 5xx, no connection, no name, a bad certificate */
  | { kind: 'failed' }
  /** no complete answer in time */
  | { kind: 'timeout' }
  /** 429; or 503 that says for how long */
  | { kind: 'throttled'; retryAfterMs?: number }
  /** nothing was sent; or what came of it tells of this process, not of the endpoint */
  | { kind: 'withdrawn' };
