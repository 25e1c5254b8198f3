import { percentile, sum, type Times, timesOf } from '../arithmetic';
import { type History } from './attempt-history';

/** Computes the outcome of the calls during an outage. Pure. */

/** The time at which each call was sent, by delivery id. */
export type SentAt = ReadonlyMap<string, number>;

interface Outcome {
  /**
   * from its return until the first delivery, and until the last delivery of a call accepted during
   * the outage
   */
  firstMs: number;
  drainMs: number;
  /** waits of those */
  hops: { mean: number; most: number };
  /** number of times that its circuit opened again after its return */
  reopened: number;
  /** calls sent before the outage, and those sent after the first delivery and before the last */
  before: Times;
  fresh: Times;
  /** the maximum of deliveries in one second after its return */
  peakPerSecond: number;
  missing: number;
}

export function outcome(
  sentAt: SentAt,
  arrivals: ReadonlyMap<string, number>,
  { hops, circuits }: History,
  { deadMs, backMs, backWallMs }: { deadMs: number; backMs: number; backWallMs: number },
): Outcome {
  const all = [...sentAt].map(([id, atMs]) => ({ id, atMs, arrivedMs: arrivals.get(id) }));
  const during = all.filter(({ atMs }) => atMs >= deadMs && atMs < backMs);
  const afterBack = [...arrivals.values()].filter((atMs) => atMs >= backMs);
  const firstMs = percentile(afterBack, 0);
  const lastMs = percentile([backMs, ...during.flatMap(({ arrivedMs }) => arrivedMs ?? [])], 1);
  const tookOf = (from: number, to: number) =>
    all.flatMap(({ atMs, arrivedMs }) =>
      atMs < from || atMs >= to || arrivedMs === undefined ? [] : [arrivedMs - atMs],
    );
  const waited = during.flatMap(({ id }) => hops.get(id) ?? []);
  return {
    drainMs: lastMs - backMs,
    firstMs: firstMs - backMs,
    hops: { mean: sum(waited) / waited.length, most: percentile(waited, 1) },
    reopened: circuits.filter(({ state, at }) => state === 'open' && Date.parse(at) > backWallMs)
      .length,
    before: timesOf(tookOf(-Infinity, deadMs)),
    // Before the first 2xx nothing can know that the endpoint is back: those calls wait like those
    // of the outage.
    fresh: timesOf(tookOf(firstMs, lastMs)),
    peakPerSecond: mostWithin(afterBack, 1000),
    missing: all.filter(({ arrivedMs }) => arrivedMs === undefined).length,
  };
}

/** Returns the largest number of these times within any interval of this length. */
export function mostWithin(times: readonly number[], ms: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [i, at] of sorted.entries()) {
    while (at - (sorted[first] ?? at) >= ms) first++;
    most = Math.max(most, i - first + 1);
  }
  return most;
}
