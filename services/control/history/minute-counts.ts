import { ALERTS_ID } from '../../../shared/model/config';
import { type DeliveryRow } from './delivery-row';

/**
 * What the overview counts, by destination and minute, so that it need not look at a million rows: pure. Counted is what
 * changed in the history, so that an event that is read twice counts once.
 */

export interface MinuteCount {
  destination: string;
  /** ms since 1970, a whole minute */
  minute: number;
  /** delivered, dead, cancelled, attempts, failed; or `took:<bucket>`, the time from acceptance to delivery */
  what: string;
  count: number;
}

const MINUTE_MS = 60_000;
/** Four buckets to a doubling: a percentile read from them is at most 19 % off. */
const BUCKETS_PER_DOUBLING = 4;
const TOOK = 'took:';

/** What a change of a delivery adds. Tests count for nothing, nor do Waypost's own alerts: neither is anybody's traffic. */
export function countsOf(before: DeliveryRow | undefined, after: DeliveryRow): MinuteCount[] {
  if (after.test || after.destination === ALERTS_ID) return [];
  const counts: MinuteCount[] = [];
  const add = (what: string, atMs: number, count = 1) => {
    counts.push({ destination: after.destination, minute: Math.floor(atMs / MINUTE_MS) * MINUTE_MS, what, count });
  };
  for (const { at, outcome } of newTries(before, after)) {
    add('attempts', Date.parse(at));
    if (outcome !== 'delivered') add('failed', Date.parse(at));
  }
  if (after.settledAt !== null && after.settledAt !== before?.settledAt) {
    add(after.status, after.settledAt);
    // A replay's time says when somebody asked for it, not how fast anything is.
    if (after.status === 'delivered' && after.replay === 0) add(took(after), after.settledAt);
  }
  return counts;
}

/** The attempts that a change of a delivery added. */
function newTries(before: DeliveryRow | undefined, after: DeliveryRow) {
  if (!before) return after.tries;
  if (before.tries === after.tries) return [];
  // A late addition replaces an attempt by itself with more URLs.
  const known = new Set(before.tries.map(({ n, replay, at }) => `${n}/${replay}/${at}`));
  return after.tries.filter(({ n, replay, at }) => !known.has(`${n}/${replay}/${at}`));
}

function took({ acceptedAt, settledAt }: DeliveryRow): string {
  const ms = Math.max(1, (settledAt ?? acceptedAt) - acceptedAt);
  return TOOK + String(Math.floor(Math.log2(ms) * BUCKETS_PER_DOUBLING));
}

/** The same counts with those of one destination, minute and kind in one. */
export function sumCounts(counts: readonly MinuteCount[]): MinuteCount[] {
  const sums = new Map<string, MinuteCount>();
  for (const each of counts) {
    const key = `${each.destination}/${each.minute}/${each.what}`;
    const sum = sums.get(key);
    if (sum) sum.count += each.count;
    else sums.set(key, { ...each });
  }
  return [...sums.values()];
}

/**
 * A percentile from counts of `took:` buckets: the middle of the bucket that it falls into.
 * @returns ms, or null where nothing was delivered
 */
export function percentile(counts: readonly Pick<MinuteCount, 'what' | 'count'>[], share: number): number | null {
  const buckets = counts
    .filter(({ what }) => what.startsWith(TOOK))
    .map(({ what, count }) => ({ bucket: Number(what.slice(TOOK.length)), count }))
    .sort((a, b) => a.bucket - b.bucket);
  let left = buckets.reduce((sum, { count }) => sum + count, 0) * share;
  for (const { bucket, count } of buckets) {
    left -= count;
    if (left <= 0) return Math.round(2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING));
  }
  return null;
}
