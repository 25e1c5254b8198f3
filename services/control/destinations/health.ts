import { type DestinationHealth } from '../../../shared/api/operations';
import { type Destination } from '../../../shared/model/config';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';
import { type KnownHealth } from '../health/destination-health';
import { type CountColumns, percentile } from '../history/minute-counts';
import { type CircuitRow } from '../history/circuits';
import { type SeriesCount } from '../history/queries';
import { seriesOf, type Span, sumOf, totals } from '../history/count-series';

/** Judges the health of one destination from counts. Pure. */

type State = DestinationHealth['state'];
type Judged = Extract<State, 'healthy' | 'degraded' | 'failing'>;

/** The attempts of this time show the state, if there are any. */
export const RECENT_MS = 15 * 60_000;
const MINUTE_MS = 60_000;
/** Below these shares of successful attempts. */
const DEGRADED_BELOW = 0.99;
const FAILING_BELOW = 0.5;

export interface Observed {
  destination: Destination;
  span: Span;
  steps: readonly SeriesCount[];
  /** counts since `RECENT_MS` ago */
  recent: readonly CountColumns[];
  open: { count: number; oldestAt: number | null };
  /** open circuits of its URLs */
  circuits: readonly CircuitRow[];
  /** the health by which alerts decide */
  known: KnownHealth | undefined;
  /** when it was last paused, resumed, switched on or off; null: unknown */
  setAt: number | null;
  /** the last minute with an attempt; null: none is known */
  lastAttemptAt: number | null;
  /** the minutes of the span with a failure, in order */
  troubledMinutes: readonly number[];
  nowMs: number;
}

export function healthOf(observed: Observed): DestinationHealth {
  const { span, steps, open, known, nowMs, destination } = observed;
  const whole = totals(steps);
  const waitsMs = nowMs - (open.oldestAt ?? nowMs);
  const state = stateOf({
    ...observed,
    whole,
    recent: totals(observed.recent),
    open: open.count,
    waitsMs,
  });
  const begunAt = Math.max(span.sinceMs, Date.parse(destination.createdAt));
  const seconds = Math.max(1, (span.untilMs - begunAt) / 1_000);
  return {
    state,
    stateSince: isoTime(Math.min(nowMs, stateSince(observed, state))),
    since: isoTime(span.sinceMs),
    stepSeconds: span.stepMs / 1_000,
    successRate: rateOf(whole),
    perSecond: Number((whole.delivered / seconds).toPrecision(3)),
    latencyMs: { ...whole.latencyMs, p99: percentile(sumOf(steps), 0.99) },
    lastError: lastErrorOf(known),
    waiting: open.count,
    oldestWaitingAt: isoTimeOrNull(open.oldestAt),
    series: seriesOf(steps),
  };
}

export function lastErrorOf(
  known: Pick<KnownHealth, 'error'> | undefined,
): DestinationHealth['lastError'] {
  if (!known?.error) return null;
  const { at, text, code, status } = known.error;
  return { at: isoTime(at), code: code ?? null, status: status ?? null, message: text };
}

type Counts = Pick<ReturnType<typeof totals>, 'attempts' | 'failedAttempts' | 'partlyDelivered'>;

/** The present of a destination, as far as its state depends on it. */
interface Present extends Pick<Observed, 'destination' | 'circuits' | 'known'> {
  whole: Counts;
  recent: Counts;
  open: number;
  /** age of the oldest one */
  waitsMs: number;
}

/**
 * Returns the state in one word: the first whose condition holds.
 *
 * - off, paused: as it is set
 * - failing: the circuits of all its URLs are open
 * - idle: it has no attempt in the span, and nothing waits
 * - failing: by the rule of the alerts
 * - failing: something waits and nothing can be sent, for example without a token
 * - failing: fewer than half of its recent attempts succeeded, unless the last one did and nothing
 *   waits. Without recent attempts, all attempts of the span count, unless the last one succeeded
 * - degraded: fewer than 99 % of them succeeded, a URL did not accept a delivery, the circuit of
 *   one URL is open, or a delivery waits for long without any recent attempt
 * - healthy: otherwise
 */
export function stateOf({
  destination,
  whole,
  recent,
  open,
  waitsMs,
  circuits,
  known,
}: Present): State {
  if (!destination.enabled) return 'off';
  if (destination.paused) return 'paused';
  if (circuits.length > 0 && circuits.length >= destination.webhooks.length) return 'failing';
  if (recent.attempts + whole.attempts + open === 0) return 'idle';
  if (known?.failingSince !== undefined || isBlocked(known, open)) return 'failing';
  const judged = judge(
    recent.attempts > 0 ? recent : isWell(known) ? { ...whole, failedAttempts: 0 } : whole,
  );
  if (judged === 'failing' && isOver(known, open)) return 'degraded';
  const isStuck = recent.attempts === 0 && open > 0 && waitsMs > RECENT_MS;
  return judged === 'healthy' && (circuits.length > 0 || isStuck) ? 'degraded' : judged;
}

/**
 * Returns whether nothing can be sent since the last attempt, which shows that requests go out,
 * also if it failed. It is over if nothing waits.
 */
function isBlocked(known: KnownHealth | undefined, open: number): boolean {
  const { blocked, successAt, failures = [] } = known ?? {};
  const blockedAt = blocked?.failures.at(-1)?.at ?? 0;
  return open > 0 && blockedAt > Math.max(successAt ?? 0, failures.at(-1)?.at ?? 0);
}

function isWell(known: KnownHealth | undefined): boolean {
  return known !== undefined && known.successAt !== null && known.failures.length === 0;
}

/** Returns whether it has recovered. */
function isOver(known: KnownHealth | undefined, open: number): boolean {
  return open === 0 && isWell(known);
}

function judge(counts: Counts): Judged {
  const rate = rateOf(counts) ?? 1;
  if (rate < FAILING_BELOW) return 'failing';
  return rate < DEGRADED_BELOW || counts.partlyDelivered > 0 ? 'degraded' : 'healthy';
}

export function rateOf({
  attempts,
  failedAttempts,
}: Pick<Counts, 'attempts' | 'failedAttempts'>): number | null {
  return attempts === 0 ? null : Math.max(0, 1 - failedAttempts / attempts);
}

function stateSince(observed: Observed, state: State): number {
  const { destination, known, circuits, setAt, lastAttemptAt, open, nowMs } = observed;
  const createdAt = Date.parse(destination.createdAt);
  const lately = Math.max(createdAt, nowMs - RECENT_MS);
  switch (state) {
    case 'off':
    case 'paused':
      return setAt ?? createdAt;
    case 'idle':
      return lastAttemptAt ?? setAt ?? createdAt;
    case 'failing': {
      const begun = known?.failingSince ?? known?.failures[0]?.at ?? circuits[0]?.at;
      const blocked = isBlocked(known, open.count) ? known?.blocked?.failures[0]?.at : undefined;
      return begun ?? blocked ?? troubleOf(observed, ['failing']) ?? nowMs;
    }
    case 'degraded': {
      // It may have recovered from worse. Without a failure, a URL is away, or something waits.
      const failed = troubleOf(observed, ['degraded', 'failing']);
      return failed ?? circuits[0]?.at ?? stuckSince(observed) ?? lately;
    }
    case 'healthy':
      return runOf(observed, ['healthy']) ?? lately;
  }
}

/** Returns since when something waits of which nothing was tried lately. */
function stuckSince({ recent, open }: Observed): number | undefined {
  return totals(recent).attempts === 0 ? (open.oldestAt ?? undefined) : undefined;
}

/** Returns the first failure of a run: its first step may be an hour long and begin well. */
function troubleOf(observed: Observed, states: readonly Judged[]): number | undefined {
  const since = runOf(observed, states);
  if (since === undefined) return undefined;
  const first = observed.troubledMinutes.find((minute) => minute + MINUTE_MS > since);
  return Math.max(since, first ?? since);
}

/**
 * Returns the start of the last steps that all show one of these states; undefined if the last one
 * shows another.
 */
function runOf({ steps, destination }: Observed, states: readonly Judged[]): number | undefined {
  let since: number | undefined;
  for (const { at, ...counts } of seriesOf(steps).reverse()) {
    if (counts.attempts === 0) continue;
    if (!states.includes(judge(counts))) break;
    since = Date.parse(at);
  }
  return since === undefined ? undefined : Math.max(since, Date.parse(destination.createdAt));
}
