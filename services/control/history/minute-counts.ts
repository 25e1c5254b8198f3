import { ALERTS_ID } from '../../../shared/model/config';
import { isDelivered } from '../../../shared/model/reasons';
import { type DeliveryRow } from './delivery-row';

/**
 * Counts deliveries by destination and minute, so that the overview need not scan a million rows.
 * Pure. It counts changes of rows, so that an event that is read twice counts once. An end that no
 * longer holds counts no more: a dead letter that was replayed is subtracted in the minute when it
 * was given up.
 */

/** `failed` is a part of `attempts`, and `partly` one of `delivered`. */
export const KINDS = ['attempts', 'failed', 'delivered', 'partly', 'dead', 'cancelled'] as const;
export type Kind = (typeof KINDS)[number];

export interface MinuteCount {
  destination: string;
  /** ms since 1970, a whole minute */
  minute: number;
  /** one of `KINDS`, or `took:<bucket>`, the time from acceptance to delivery */
  what: string;
  count: number;
}

/** Counts of some time, by what they count. */
export type Counts = Map<string, number>;

/** Counts as the database has them. */
export interface CountColumns extends Record<Kind, number> {
  /** `<bucket>:<count>`, separated by spaces; a bucket may come several times */
  took: string;
}

const MINUTE_MS = 60_000;
/** Four buckets for each doubling: a percentile read from them is at most 19 % off. */
const BUCKETS_PER_DOUBLING = 4;
const TOOK = 'took:';

/**
 * Returns the counts that a change of a delivery adds. Test sends and Waypost's own alerts are not
 * traffic, and do not count.
 */
export function countsOf(before: DeliveryRow | undefined, after: DeliveryRow): MinuteCount[] {
  if (after.test || after.destination === ALERTS_ID) return [];
  const counts: MinuteCount[] = [];
  const add = (what: string, atMs: number, count = 1) => {
    counts.push({
      destination: after.destination,
      minute: Math.floor(atMs / MINUTE_MS) * MINUTE_MS,
      what,
      count,
    });
  };
  for (const { at, outcome, withheld } of newTries(before, after)) {
    if (withheld) continue;
    add('attempts', Date.parse(at));
    if (outcome !== 'delivered') add('failed', Date.parse(at));
  }
  if (after.settledAt === before?.settledAt && after.status === before.status) return counts;
  if (before) for (const what of endsOf(before)) add(what, before.settledAt ?? 0, -1);
  for (const what of endsOf(after)) add(what, after.settledAt ?? 0);
  return counts;
}

function endsOf(row: DeliveryRow): string[] {
  if (row.settledAt === null) return [];
  if (!isDelivered(row.status)) return [row.status];
  const ends = row.status === 'partly_delivered' ? ['delivered', 'partly'] : ['delivered'];
  // The time of a replay shows when somebody requested it, not how fast a delivery was.
  return row.replay === 0 ? [...ends, took(row)] : ends;
}

function newTries(before: DeliveryRow | undefined, after: DeliveryRow) {
  if (!before) return after.tries;
  if (before.tries === after.tries) return [];
  // A late event replaces an attempt by the same attempt with more URLs.
  const known = new Set(before.tries.map(({ n, replay, at }) => `${n}/${replay}/${at}`));
  return after.tries.filter(({ n, replay, at }) => !known.has(`${n}/${replay}/${at}`));
}

function took({ acceptedAt, settledAt }: Pick<DeliveryRow, 'acceptedAt' | 'settledAt'>): string {
  const ms = Math.max(1, (settledAt ?? acceptedAt) - acceptedAt);
  return TOOK + String(Math.floor(Math.log2(ms) * BUCKETS_PER_DOUBLING));
}

export interface SummedCounts {
  destination: string;
  /** ms since 1970, when the minute or hour begins */
  minute: number;
  counts: Counts;
}

export class CountSums {
  readonly #byMinute = new Map<number, Map<string, Counts>>();

  constructor(counts: readonly MinuteCount[] = []) {
    for (const each of counts) this.add(each);
  }

  add({ destination, minute, what, count }: MinuteCount): void {
    addTo(this.of(destination, minute), what, count);
  }

  /** Returns the counts of a destination in a minute or an hour, to which others can be added. */
  of(destination: string, minute: number): Counts {
    return within(within(this.#byMinute, minute), destination);
  }

  /** Returns the sums, without those that are zero. */
  all(): SummedCounts[] {
    const all: SummedCounts[] = [];
    for (const [minute, destinations] of this.#byMinute) {
      for (const [destination, counts] of destinations) {
        if ([...counts.values()].some((count) => count !== 0)) {
          all.push({ destination, minute, counts });
        }
      }
    }
    return all;
  }
}

/** Returns the map that a map has for this key; a new one if it has none. */
function within<Key, InnerKey, Value>(
  maps: Map<Key, Map<InnerKey, Value>>,
  key: Key,
): Map<InnerKey, Value> {
  let inner = maps.get(key);
  if (!inner) maps.set(key, (inner = new Map<InnerKey, Value>()));
  return inner;
}

function addTo(counts: Counts, what: string, count: number): void {
  counts.set(what, (counts.get(what) ?? 0) + count);
}

export function addColumns(counts: Counts, columns: CountColumns): void {
  for (const kind of KINDS) addTo(counts, kind, columns[kind]);
  addBuckets(counts, columns.took);
}

const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;

/**
 * Reads character by character, and adds each bucket once: a month of 200 destinations has millions
 * of parts, which would take two seconds as texts.
 */
function addBuckets(counts: Counts, took: string): void {
  const sums: number[] = [];
  let bucket = 0;
  let number = 0;
  let sign = 1;
  for (let at = 0; at <= took.length; at++) {
    const code = took.charCodeAt(at);
    if (code >= ZERO && code <= NINE) number = 10 * number + code - ZERO;
    else if (code === MINUS) sign = -1;
    else if (code === COLON) {
      bucket = number;
      number = 0;
    } else {
      // A space, or the end.
      if (number > 0) sums[bucket] = (sums[bucket] ?? 0) + sign * number;
      number = 0;
      sign = 1;
    }
  }
  sums.forEach((count, each) => addTo(counts, TOOK + String(each), count));
}

export function columnsOf(counts: Counts): CountColumns {
  const took: string[] = [];
  for (const [what, count] of counts) {
    if (what.startsWith(TOOK) && count !== 0) {
      took.push(`${what.slice(TOOK.length)}:${String(count)}`);
    }
  }
  const of = (kind: Kind) => counts.get(kind) ?? 0;
  return {
    attempts: of('attempts'),
    failed: of('failed'),
    delivered: of('delivered'),
    partly: of('partly'),
    dead: of('dead'),
    cancelled: of('cancelled'),
    took: took.join(' '),
  };
}

/**
 * Returns a percentile of the `took:` buckets: the middle of the bucket that contains it.
 * @returns ms, or null if nothing was delivered
 */
export function percentile(counts: Counts, share: number): number | null {
  const buckets = [...counts]
    .filter(([what]) => what.startsWith(TOOK))
    .map(([what, count]) => ({ bucket: Number(what.slice(TOOK.length)), count }))
    .sort((a, b) => a.bucket - b.bucket);
  let left = buckets.reduce((sum, { count }) => sum + count, 0) * share;
  for (const { bucket, count } of buckets) {
    left -= count;
    if (left <= 0) return Math.round(2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING));
  }
  return null;
}
