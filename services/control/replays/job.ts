import { type Range } from '../../../shared/kafka/port';
import { type Origin, type Scope, type Wanted } from './scope';

/**
 * A replay as it is kept in the database, and how it moves on: pure. First everything within the scope is counted, then
 * sent; each pass goes through the same partitions, up to the ends that they had when it was asked for.
 */

type JobStatus = 'counting' | 'running' | 'done' | 'cancelled' | 'failed';

/** Where a pass stands in a partition. */
export interface Place {
  partition: number;
  /** where the scope begins */
  low: number;
  next: number;
  end: number;
}

export interface Job {
  id: string;
  /** ms since 1970 */
  createdAt: number;
  updatedAt: number;
  status: JobStatus;
  /** what it does, or did when it was stopped */
  pass: 'counting' | 'running';
  scope: Scope;
  preview: boolean;
  maxPerSecond: number;
  places: Place[];
  matched: number;
  sent: number;
  error: string | null;
  /** ends of `attempts` when it was asked for, which the history must have read first; absent: it has */
  historyUpTo?: Range[];
  /** ends of `attempts` after the last chunk that was saved: every later one is behind them; absent: saved by an older version */
  sentUpTo?: Range[];
}

export function newJob(wanted: Wanted, made: { id: string; now: Date; places: Place[]; historyUpTo?: Range[] }): Job {
  const at = made.now.getTime();
  return {
    id: made.id,
    createdAt: at,
    updatedAt: at,
    status: 'counting',
    pass: 'counting',
    ...wanted,
    places: made.places,
    matched: 0,
    sent: 0,
    error: null,
    ...(made.historyUpTo && { historyUpTo: made.historyUpTo }),
  };
}

export function isActive({ status }: Pick<Job, 'status'>): boolean {
  return status === 'counting' || status === 'running';
}

/** The partition that the pass goes on in; undefined at its end. */
export function currentPlace({ places }: Job): Place | undefined {
  return places.find(({ next, end }) => next < end);
}

/** The pass has come to its end: what follows. */
export function nextPass(job: Job): Job {
  if (job.pass === 'running' || job.preview || job.matched === 0) return { ...job, status: 'done' };
  const places = job.places.map((place) => ({ ...place, next: place.low }));
  return { ...job, status: 'running', pass: 'running', places };
}

/** How much of the present pass is behind it, 0 to 1. */
export function progressOf({ status, places }: Pick<Job, 'status' | 'places'>): number {
  if (status === 'done') return 1;
  const all = places.reduce((sum, { low, end }) => sum + end - low, 0);
  const behind = places.reduce((sum, { low, next, end }) => sum + Math.min(next, end) - low, 0);
  return all === 0 ? 1 : Math.round((behind / all) * 1_000) / 1_000;
}

/** So many at once that the rate is even, and appends are not too small. */
export function chunkOf(maxPerSecond: number): number {
  return Math.max(1, Math.min(500, Math.floor(maxPerSecond / 5)));
}

export function jobView(job: Job) {
  const { id, status, matched, sent, preview, maxPerSecond, error, scope } = job;
  const iso = (ms: number) => new Date(ms).toISOString();
  const origin: Origin = scope.origin;
  return {
    id,
    status,
    matched,
    sent,
    from: scope.from === null ? null : iso(scope.from),
    to: iso(scope.to),
    destination: scope.destination,
    origin,
    deliveryStatus: scope.status,
    type: scope.type,
    includeDelivered: scope.includeDelivered,
    preview,
    maxPerSecond,
    pass: job.pass,
    progress: progressOf(job),
    error,
    waitingFor: isActive(job) && job.historyUpTo ? ('history' as const) : null,
    createdAt: iso(job.createdAt),
    updatedAt: iso(job.updatedAt),
  };
}
