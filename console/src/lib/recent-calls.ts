import { type Event } from '../../../shared/api/operations';

/** Counts the last calls of a source in steps of time, and why some were rejected. Pure. */

type Call = Pick<Event, 'at' | 'accepted' | 'message'>;

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
  calls.forEach(({ accepted, message = '' }, i) => {
    const nth = Math.floor(((times[i] ?? startMs) - startMs) / stepMs);
    const step = steps[Math.min(length - 1, nth)];
    if (step) step[accepted ? 'accepted' : 'rejected'] += 1;
    if (!accepted) reasons.set(message, (reasons.get(message) ?? 0) + 1);
  });
  const accepted = calls.filter((call) => call.accepted).length;
  return {
    accepted,
    rejected: calls.length - accepted,
    since: new Date(startMs).toISOString(),
    steps,
    reasons: [...reasons]
      .map(([reason, count]) => ({ reason, count }))
      .sort((a, b) => b.count - a.count),
  };
}
