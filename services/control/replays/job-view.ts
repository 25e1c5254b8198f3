import { type Origin } from '../../../shared/api/replays';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';
import { isActive, type Job, type JobResults, readsMessages, shownStatus } from './job';

/** Shows a job to users, and decides whether its results are final. Pure. */

type Progressing = Pick<Job, 'status' | 'places' | 'action' | 'recall'>;

/** Returns the completed part of the current pass, 0 to 1. */
export function progressOf({ status, places, action, recall }: Progressing): number {
  if (status === 'done') return 1;
  if (action) {
    return recall && recall.of > 0
      ? Math.round((recall.searched.length / recall.of) * 1_000) / 1_000
      : 0;
  }
  const all = places.reduce((sum, { low, end }) => sum + end - low, 0);
  const behind = places.reduce((sum, { low, next, end }) => sum + Math.min(next, end) - low, 0);
  return all === 0 ? 1 : Math.round((behind / all) * 1_000) / 1_000;
}

/** Deliveries that were being sent when a job was cancelled have usually ended by then. */
const COUNTED_AFTER_MS = 10 * 60_000;
/**
 * Longer than any window: another job has replayed a delivery that is open then, or the history has
 * dropped it.
 */
const RESULTS_AFTER_MS = 4 * 86_400_000;

/**
 * Returns whether the results of a job change no more.
 * @param settled number of its deliveries that have ended, or that a later job sent again
 */
export function isFinal(job: Job, settled: number, nowMs: number): boolean {
  const agoMs = nowMs - job.updatedAt;
  // A cancelled job does not count what retry was sending when it stopped.
  const isSettled = settled >= job.sent && (job.status === 'done' || agoMs > COUNTED_AFTER_MS);
  return !isActive(job) && (isSettled || agoMs > RESULTS_AFTER_MS);
}

/** @param results undefined: the history does not know them */
export function jobView(job: Job, results?: JobResults) {
  const { id, matched, sent, preview, maxPerSecond, error, scope } = job;
  const origin: Origin | 'waiting' = job.action ? 'waiting' : scope.origin;
  return {
    id,
    action: job.action ?? ('replay' as const),
    status: shownStatus(job),
    asked: preview || isActive(job) ? Math.max(matched, sent) : sent,
    cancelled: job.action === 'cancel' ? sent : null,
    attempted: results?.attempted ?? null,
    delivered: results?.delivered ?? null,
    failedAgain: results?.failedAgain ?? null,
    held: results?.held ?? null,
    superseded: results?.superseded ?? null,
    from: isoTimeOrNull(scope.from),
    to: isoTime(scope.to),
    destination: scope.destination,
    origin,
    render: readsMessages(scope) ? ('again' as const) : ('as_sent' as const),
    deliveryStatus: scope.status,
    reason: scope.reason,
    type: scope.type,
    includeDelivered: scope.includeDelivered,
    onlyFailedUrls: scope.onlyFailedUrls,
    preview,
    maxPerSecond,
    pass: job.pass,
    progress: progressOf(job),
    error,
    waitingFor: isActive(job) && job.historyUpTo ? ('history' as const) : null,
    createdAt: isoTime(job.createdAt),
    updatedAt: isoTime(job.updatedAt),
  };
}
