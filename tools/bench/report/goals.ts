/** The goals of the design, and the comparison of a figure with its goal. Pure. */

export interface Goal {
  limit: number;
  /** most: the figure must not be above the limit; least: not below it */
  is: 'most' | 'least';
}

const most = (limit: number): Goal => ({ limit, is: 'most' });
const least = (limit: number): Goal => ({ limit, is: 'least' });

export const GOALS = {
  /** times the baseline */
  deliveryRatio: most(1.5),
  allServicesRatio: most(4),
  /** CPU-seconds per 1,000 webhooks, including the broker */
  cpuPerThousandBatches: most(0.15),
  cpuPerThousandSingles: most(0.25),
  /** relative to delivery's CPU without telemetry */
  telemetryRatio: most(1.1),
  /** relative to the router's CPU without definitions */
  unusedRatio: most(1.05),
  /** relative to the router's CPU a message */
  audiencesRatio: most(3),
  perSecond: least(5_000),
  p50Ms: most(4),
  p99Ms: most(15),
  /** times the ideal */
  backlogIdeals: most(1.2),
  backlogHops: most(1),
  reopened: most(0),
  latenessMs: most(1_000),
  hostileRatio: most(1.5),
} as const;

/**
 * The allowed cost of hanging endpoints for the others, as a multiple of the clean p99: a fifth more, or 10 ms if
 * that is more.
 */
export function isolationGoal(cleanP99Ms: number): Goal {
  return most(Math.max(1.2, cleanP99Ms < 50 ? 1 + 10 / cleanP99Ms : 0));
}

/** Returns `met`, or the figure as a multiple of its goal. */
export function verdict(measured: number, goal: Goal): string {
  const met = goal.is === 'most' ? measured <= goal.limit : measured >= goal.limit;
  if (met) return 'met';
  const off = goal.is === 'most' ? measured / goal.limit - 1 : 1 - measured / goal.limit;
  return `missed by ${String(Math.max(1, Math.round(off * 100)))} %`;
}
