import { groupBy } from '../../../shared/collections/group-by';
import { MOST_OVERVIEW_ROWS } from '../../../shared/api/operation';
import { type Destination } from '../../../shared/model/config';
import { isoTime } from '../../../shared/model/time';
import { type KnownHealth } from '../health/destination-health';
import { lastErrorOf, rateOf, stateOf } from '../destinations/health';
import { type CircuitRow } from '../history/circuits';
import { type DestinationCount, type OpenCount, type TrendCount } from '../history/queries';
import { type Span, totals } from '../history/count-series';
import { type DeliveryRow } from '../history/delivery-row';
import { lastOf } from '../history/tries';

/**
 * Judges the health of many destinations, each by the rules of a single one, and shows how it
 * developed. Pure.
 */

interface KnownCounts {
  counts: readonly DestinationCount[];
  /** counts of the last minutes */
  recent: readonly DestinationCount[];
  open: readonly OpenCount[];
  circuits: readonly CircuitRow[];
  health: ReadonlyMap<string, KnownHealth>;
  /** the newest dead letter of each in the span; absent: not asked for */
  dead?: readonly DeliveryRow[];
  nowMs: number;
}

function byDestination<T extends { destination: string }>(
  rows: readonly T[],
): (destination: string) => T[] {
  const found = groupBy(rows, (row) => row.destination);
  return (destination) => found.get(destination) ?? [];
}

/** The destination that a query names, and destinations with trouble. */
interface Chosen {
  destination: string | undefined;
  /** ids with a dead letter in the span */
  dead: readonly string[];
  open: readonly Pick<OpenCount, 'destination'>[];
  /** ids with a recent failure */
  failed: readonly string[];
  /** ids by the evidence of alerts */
  troubled: readonly string[];
  circuits: readonly Pick<CircuitRow, 'destination'>[];
}

/**
 * Returns the destinations to show. If there are too many for one response, the most urgent come
 * first: a dead letter counts most, then an open circuit, trouble that alerts watch, recent
 * failures, and waiting deliveries. Off and paused destinations without a dead letter come last.
 */
export function shownOf(all: readonly Destination[], chosen: Chosen): Destination[] {
  const { destination } = chosen;
  if (all.length <= MOST_OVERVIEW_ROWS) return [...all];
  const named = ({ destination: id }: { destination: string }) => id;
  const signs = [
    chosen.open.map(named),
    chosen.failed,
    chosen.troubled,
    chosen.circuits.map(named),
    chosen.dead,
  ];
  const urgency = new Map<string, number>();
  signs.forEach((found, i) => {
    for (const id of new Set(found)) urgency.set(id, (urgency.get(id) ?? 0) + 2 ** i);
  });
  const lost = new Set(chosen.dead);
  const rank = ({ id, enabled, paused }: Destination) =>
    id === destination
      ? Infinity
      : (enabled && !paused) || lost.has(id)
        ? (urgency.get(id) ?? 0)
        : -1;
  return all
    .map((each) => ({ each, rank: rank(each) }))
    .sort((a, b) => (a.rank === b.rank ? 0 : b.rank - a.rank))
    .slice(0, MOST_OVERVIEW_ROWS)
    .map(({ each }) => each);
}

export function rowsOf(destinations: readonly Destination[], known: KnownCounts) {
  const [countsOf, recentOf] = [byDestination(known.counts), byDestination(known.recent)];
  const [openOf, circuitsOf] = [byDestination(known.open), byDestination(known.circuits)];
  const deadOf = new Map(known.dead?.map((row) => [row.destination, row]));
  return destinations.map((destination) => {
    const { id } = destination;
    const [counts, open, circuits] = [countsOf(id), openOf(id), circuitsOf(id)];
    const [whole, health] = [totals(counts), known.health.get(id)];
    const oldest = Math.min(...open.map((each) => each.oldest));
    return {
      ...overviewOf(destination, { counts, open, circuits }),
      state: stateOf({
        destination,
        whole,
        circuits,
        known: health,
        recent: totals(recentOf(id)),
        open: open.reduce((sum, { count }) => sum + count, 0),
        waitsMs: known.nowMs - oldest,
      }),
      successRate: rateOf(whole),
      lastError: lastErrorOf(health),
      lastDead: lastDeadOf(deadOf.get(id)),
      oldestWaitingAt: Number.isFinite(oldest) ? isoTime(oldest) : null,
    };
  });
}

function lastDeadOf(row: DeliveryRow | undefined) {
  if (!row) return null;
  const { status, error } = lastOf(row);
  return {
    at: isoTime(row.settledAt ?? row.acceptedAt),
    reason: row.reason,
    status,
    code: error?.code ?? null,
    message: error?.message ?? null,
  };
}

/** Points of a line in a row of a table. */
export const TREND_STEPS = 24;

export function trendOf(counts: readonly TrendCount[], { sinceMs, untilMs, stepMs }: Span) {
  const of = byDestination(counts);
  const steps = Math.max(1, Math.ceil((untilMs - sinceMs) / stepMs));
  return (destination: string) => {
    const line = (what: 'delivered' | 'failed') => {
      const points = Array<number>(steps).fill(0);
      for (const each of of(destination)) {
        const step = Math.floor((each.at - sinceMs) / stepMs);
        if (step in points) points[step] = Math.max(0, each[what]);
      }
      return points;
    };
    return {
      stepSeconds: stepMs / 1_000,
      delivered: line('delivered'),
      failedAttempts: line('failed'),
    };
  };
}

/** The rows of one destination. */
interface Counted {
  counts: readonly DestinationCount[];
  open: readonly Pick<OpenCount, 'destination' | 'status' | 'count'>[];
  circuits: readonly CircuitRow[];
}

function overviewOf(
  { id, name, enabled, paused }: Destination,
  { counts, open, circuits }: Counted,
) {
  const underWay = (status: string) => open.find((each) => each.status === status)?.count ?? 0;
  return {
    destination: id,
    name,
    enabled,
    paused,
    ...totals(counts),
    waiting: underWay('waiting'),
    retrying: underWay('retrying'),
    held: underWay('held'),
    circuits: circuits.map(({ url, origin, why, at }) => {
      return { url, origin, state: 'open' as const, why, at: isoTime(at) };
    }),
  };
}

export function openOf(open: readonly OpenCount[]) {
  const sum = (status: string) =>
    open.reduce((total, each) => total + (each.status === status ? each.count : 0), 0);
  return { waiting: sum('waiting'), retrying: sum('retrying'), held: sum('held') };
}
