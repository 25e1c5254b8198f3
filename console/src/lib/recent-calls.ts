import { type Event } from '../../../shared/api/operations';

/**
 * Counts the last calls: those of a minute, or in steps of time and why some were rejected. Pure.
 */

type Call = Pick<Event, 'at' | 'accepted' | 'message' | 'count'>;

interface Step {
  accepted: number;
  rejected: number;
}

interface RecentCalls extends Step {
  /** when the oldest came */
  since: string;
  steps: Step[];
  /** the most frequent first */
  reasons: { reason: string; count: number }[];
}

const MINUTE_MS = 60_000;

/**
 * Counts the calls of the last minute.
 * @param calls the newest first
 * @param areAll there are no others
 * @returns `isLeast`: there may be more
 */
export function lastMinute(
  calls: readonly Pick<Event, 'at' | 'accepted' | 'count'>[],
  areAll: boolean,
  nowMs: number,
): Step & { isLeast: boolean } {
  const recent = calls.filter(({ at }) => nowMs - Date.parse(at) < MINUTE_MS);
  return {
    ...standFor(recent),
    isLeast: !areAll && recent.length === calls.length,
  };
}

/** Returns the number of calls: a rejected one may stand for several. */
function standFor(calls: readonly Pick<Event, 'accepted' | 'count'>[]): Step {
  const sum: Step = { accepted: 0, rejected: 0 };
  for (const { accepted, count = 1 } of calls) sum[accepted ? 'accepted' : 'rejected'] += count;
  return sum;
}

/** @returns undefined without calls */
export function recentCalls(
  calls: readonly Call[],
  nowMs: number,
  length: number,
): RecentCalls | undefined {
  const times = calls.map(({ at }) => Date.parse(at));
  if (times.length === 0) return undefined;
  const startMs = Math.min(...times);
  const stepMs = Math.max(1, (Math.max(nowMs, ...times) - startMs) / length);
  const steps = Array.from({ length }, (): Step => ({ accepted: 0, rejected: 0 }));
  const reasons = new Map<string, number>();
  calls.forEach(({ accepted, message = '', count = 1 }, i) => {
    const nth = Math.floor(((times[i] ?? startMs) - startMs) / stepMs);
    const step = steps[Math.min(length - 1, nth)];
    if (step) step[accepted ? 'accepted' : 'rejected'] += count;
    if (!accepted) reasons.set(message, (reasons.get(message) ?? 0) + count);
  });
  return {
    ...standFor(calls),
    since: new Date(startMs).toISOString(),
    steps,
    reasons: [...reasons]
      .map(([reason, count]) => ({ reason, count }))
      .sort((a, b) => b.count - a.count),
  };
}
