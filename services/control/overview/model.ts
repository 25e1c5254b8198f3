import { type Destination } from '../../../shared/model/config';
import { percentile } from '../history/minute-counts';
import { type CircuitRow } from '../history/circuits';
import { type DestinationCount, type SeriesCount } from '../history/queries';

/** Computes the state of each destination from counts. Pure. */

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** The most points that a chart can show, even on a phone. */
const MAX_STEPS = 60;
/** Convenient numbers of minutes; longer steps are whole days. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440];

/** Returns the span in steps of whole minutes. Charts of the same span have the same steps. */
export function spanOf(since: number | undefined, nowMs: number): { sinceMs: number; stepMs: number } {
  const from = Math.min(since ?? nowMs - DAY_MS, nowMs);
  const least = (nowMs - from) / MAX_STEPS / MINUTE_MS;
  const minutes = STEPS.find((step) => step >= least) ?? Math.ceil((least * MINUTE_MS) / DAY_MS) * 1_440;
  const stepMs = minutes * MINUTE_MS;
  return { sinceMs: Math.floor(from / stepMs) * stepMs, stepMs };
}

interface Counted {
  counts: readonly DestinationCount[];
  open: readonly { destination: string; status: string; count: number }[];
  circuits: readonly CircuitRow[];
}

export function overviewOf(destinations: readonly Destination[], { counts, open, circuits }: Counted) {
  return destinations.map(({ id, name, enabled, paused }) => {
    const own = counts.filter((each) => each.destination === id);
    const underWay = (status: string) =>
      open.find((each) => each.destination === id && each.status === status)?.count ?? 0;
    return {
      destination: id,
      name,
      enabled,
      paused,
      ...totals(own),
      waiting: underWay('waiting'),
      retrying: underWay('retrying'),
      held: underWay('held'),
      circuits: circuits
        .filter((circuit) => circuit.destination === id)
        .map(({ url, origin, why, at }) => ({
          url,
          origin,
          state: 'open' as const,
          why,
          at: new Date(at).toISOString(),
        })),
    };
  });
}

/** Returns the counts in steps of time for charts, for all destinations or one. */
export function seriesOf(counts: readonly SeriesCount[]) {
  const steps = new Map<number, SeriesCount[]>();
  for (const each of counts) steps.set(each.at, [...(steps.get(each.at) ?? []), each]);
  return [...steps].map(([at, own]) => ({ at: new Date(at).toISOString(), ...totals(own) }));
}

export function totals(counts: readonly Pick<DestinationCount, 'what' | 'count'>[]) {
  const total = (what: string) =>
    Math.max(
      0,
      counts.filter((each) => each.what === what).reduce((sum, { count }) => sum + count, 0),
    );
  return {
    delivered: total('delivered'),
    partlyDelivered: total('partly'),
    dead: total('dead'),
    cancelled: total('cancelled'),
    attempts: total('attempts'),
    failedAttempts: total('failed'),
    latencyMs: { p50: percentile(counts, 0.5), p95: percentile(counts, 0.95) },
  };
}
