/** The retry plan of a destination. `schedule.ts` follows it. */
export interface RetryPlan {
  /**
   * ms before the second, third, … attempt; the last one repeats. Absent: the tiers as configured
   */
  delaysMs?: number[];
  /** ms after acceptance in which a delivery is attempted. Absent: WAYPOST_RETRY_WINDOW */
  windowMs?: number;
  /** ms for one request. Absent: WAYPOST_TIMEOUT */
  timeoutMs?: number;
  /** further retried statuses */
  on?: number[];
}

/** Longest timeout of a destination. A stopping delivery process waits for it. */
export const MOST_TIMEOUT_MS = 30_000;
