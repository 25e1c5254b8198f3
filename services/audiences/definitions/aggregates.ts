import { ExactNumber, stringifyJson } from '../../../shared/json/json';
import { isBehind, type Mark, markAt, type RecordName } from '../../../shared/kafka/record-name';
import { type Compute } from '../../../shared/model/audience-definition';
import { isJsonObject, type Json, type JsonObject } from '../../../shared/model/message';
import { countsFor, type TrustedSources } from './trusted-sources';

/**
 * Counts events in profiles: pure, and a function of the events alone.
 *
 * A window is divided into time buckets (`bucketMs`), each with the aggregate of its events, so
 * that a profile holds at most BUCKETS + 2 of them however active its user is. An event counts
 * until its bucket is older than the bucket in which the window begins: at least for the window,
 * and at most one bucket longer. Without a window there is a single bucket. An event's time is the
 * message's `timestamp`, at most its arrival.
 */

export interface CounterSpec {
  /** belongs to one revision of one definition, so that a changed definition starts from zero */
  id: string;
  compute: Compute;
  event: string;
  /** dots separate the names of nested objects; absent: `first` and `last` are times */
  property?: string;
  /** absent: all time */
  windowMs?: number;
  /** absent: all sources, trusted or not */
  sources?: TrustedSources;
}

/** A track event to count. */
export interface Counted {
  source: string;
  event: string;
  properties: JsonObject;
  /** ms since 1970 */
  atMs: number;
}

type Scalar = string | number | boolean | ExactNumber;
/** `first` and `last`: the time and the value at it */
type Moment = [atMs: number, value: Scalar | null];
/** `most_frequent` and `unique`: each value and its number of occurrences */
type Tally = [value: Scalar, times: number][];
type Content = number | Moment | Tally;

/** The state of a counter in a profile. */
export interface Counter {
  /** the last event that it counted, so that no event counts twice */
  last: Mark;
  /** number of the bucket since 1970 and its content, the oldest first */
  buckets: [number, Content][];
}

const BUCKETS = 64;
/**
 * Limit of the values in all buckets of a counter. Beyond it, the rarest value of the oldest bucket
 * is dropped.
 */
export const MAX_VALUES = 100;
/** Longer texts are ignored, since they do not distinguish users. */
const MAX_TEXT_LENGTH = 256;

/** Returns the width of a bucket: a 64th of the window, rounded up to whole seconds. */
export function bucketMs(windowMs: number): number {
  return Math.ceil(windowMs / BUCKETS / 1_000) * 1_000;
}

function bucketOf(spec: CounterSpec, atMs: number): number {
  return spec.windowMs === undefined ? 0 : Math.floor(atMs / bucketMs(spec.windowMs));
}

function oldestOf(spec: CounterSpec, nowMs: number): number {
  return spec.windowMs === undefined ? 0 : bucketOf(spec, nowMs - spec.windowMs);
}

/** Returns the contribution of an event to a counter; undefined: none. */
function contentOf(spec: CounterSpec, { properties, atMs }: Counted): Content | undefined {
  const value = spec.property === undefined ? undefined : propertyOf(properties, spec.property);
  switch (spec.compute) {
    case 'count':
      return spec.property === undefined || (value !== undefined && value !== null) ? 1 : undefined;
    case 'sum':
    case 'min':
    case 'max':
      return numberOf(value);
    case 'first':
    case 'last':
      if (spec.property === undefined) return [atMs, null];
      return isScalar(value) ? [atMs, value] : undefined;
    case 'most_frequent':
    case 'unique':
      return isScalar(value) ? [[value, 1]] : undefined;
  }
}

/** Reads a property by its full name, otherwise along a path of nested objects. */
function propertyOf(properties: JsonObject, path: string): Json | undefined {
  if (Object.hasOwn(properties, path)) return properties[path];
  let at: Json | undefined = properties;
  for (const name of path.split('.')) {
    if (!isJsonObject(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

function isScalar(value: Json | undefined): value is Scalar {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH;
  if (value instanceof ExactNumber) return value.digits.length <= MAX_TEXT_LENGTH;
  return typeof value === 'number' || typeof value === 'boolean';
}

/**
 * Returns the number, or the nearest double; undefined for other values, and for a number beyond
 * all doubles.
 */
function numberOf(value: Json | undefined): number | undefined {
  const number = value instanceof ExactNumber ? Number(value.digits) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/**
 * Counts an event.
 * @param record of the event; one that is not behind the last one that was counted is skipped
 * @returns the changed counter; undefined if nothing changes
 */
export function count(
  spec: CounterSpec,
  counter: Counter | undefined,
  event: Counted,
  { record, nowMs }: { record: RecordName; nowMs: number },
): Counter | undefined {
  if (event.event !== spec.event || !isBehind(record, counter?.last)) return undefined;
  if (spec.sources && !countsFor(spec.sources, event.source)) return undefined;
  const bucket = bucketOf(spec, event.atMs);
  if (bucket < oldestOf(spec, nowMs)) return undefined;
  const content = contentOf(spec, event);
  if (content === undefined) return undefined;
  return {
    last: markAt(record, counter?.last),
    buckets: join(spec, live(spec, counter, nowMs), [[bucket, content]]),
  };
}

/** Merges two counters, as an alias requires. */
export function mergeCounters(
  spec: CounterSpec,
  into: Counter | undefined,
  from: Counter,
  { record, nowMs }: { record: RecordName; nowMs: number },
): Counter | undefined {
  if (!isBehind(record, into?.last)) return undefined;
  return {
    last: markAt(record, into?.last),
    buckets: join(spec, live(spec, into, nowMs), live(spec, from, nowMs)),
  };
}

function live(spec: CounterSpec, counter: Counter | undefined, nowMs: number): Counter['buckets'] {
  const oldest = oldestOf(spec, nowMs);
  return counter?.buckets.filter(([bucket]) => bucket >= oldest) ?? [];
}

function join(
  spec: CounterSpec,
  into: Counter['buckets'],
  from: Counter['buckets'],
): Counter['buckets'] {
  const buckets = new Map(into);
  for (const [bucket, content] of from) {
    const before = buckets.get(bucket);
    buckets.set(bucket, before === undefined ? content : both(spec.compute, before, content));
  }
  const joined = [...buckets].sort(([a], [b]) => a - b);
  return spec.compute === 'most_frequent' || spec.compute === 'unique' ? bounded(joined) : joined;
}

function both(compute: Compute, a: Content, b: Content): Content {
  switch (compute) {
    case 'count':
    case 'sum':
      // JSON has no infinity: a sum stops at the largest number.
      return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, (a as number) + (b as number)));
    case 'min':
      return Math.min(a as number, b as number);
    case 'max':
      return Math.max(a as number, b as number);
    case 'first':
      return (b as Moment)[0] < (a as Moment)[0] ? b : a;
    case 'last':
      // At equal times, the later arrival wins.
      return (b as Moment)[0] >= (a as Moment)[0] ? b : a;
    case 'most_frequent':
    case 'unique':
      return tallied(a as Tally, b as Tally);
  }
}

function tallied(...tallies: Tally[]): Tally {
  const times = new Map<unknown, Tally[number]>();
  for (const [value, n] of tallies.flat()) {
    // Two exact numbers with the same digits are two objects. A text begins with a quote in JSON.
    const key =
      typeof value === 'object' ? value.digits : typeof value === 'string' ? `"${value}` : value;
    times.set(key, [value, (times.get(key)?.[1] ?? 0) + n]);
  }
  return [...times.values()];
}

/**
 * Drops the rarest values of the oldest buckets. Among equally rare values, the first goes first.
 */
function bounded(buckets: Counter['buckets']): Counter['buckets'] {
  let over = buckets.reduce((sum, [, content]) => sum + (content as Tally).length, 0) - MAX_VALUES;
  const kept: Counter['buckets'] = [];
  for (const [bucket, content] of buckets) {
    const tally = [...(content as Tally)];
    for (; over > 0 && tally.length > 0; over--) {
      const rarest = tally.reduce(
        (least, [, n], i) => (n < (tally[least]?.[1] ?? 0) ? i : least),
        0,
      );
      tally.splice(rarest, 1);
    }
    if (tally.length > 0) kept.push([bucket, tally]);
  }
  return kept;
}

/** Returns the value of a counter without events. It is never sent. */
export function nothingOf(compute: Compute): Json {
  switch (compute) {
    case 'count':
    case 'sum':
      return 0;
    case 'unique':
      return [];
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'most_frequent':
      return null;
  }
}

/**
 * Returns the value of a counter at a time. `first` and `last` without a property are in ms since
 * 1970. `unique` is a sorted list of values. Among equally frequent values, `most_frequent` is the
 * first in that order.
 */
export function valueOf(spec: CounterSpec, counter: Counter | undefined, nowMs: number): Json {
  const [first, ...rest] = live(spec, counter, nowMs).map(([, content]) => content);
  if (first === undefined) return nothingOf(spec.compute);
  const content = rest.reduce<Content>((a, b) => both(spec.compute, a, b), first);
  switch (spec.compute) {
    case 'count':
    case 'sum':
    case 'min':
    case 'max':
      return content;
    case 'first':
    case 'last': {
      const [atMs, value] = content as Moment;
      return value ?? atMs;
    }
    case 'unique':
      return (content as Tally).map(([value]) => value).sort(inOrder);
    case 'most_frequent':
      return (content as Tally).reduce((best, next) => {
        return next[1] > best[1] || (next[1] === best[1] && inOrder(next[0], best[0]) < 0)
          ? next
          : best;
      })[0];
  }
}

function inOrder(a: Scalar, b: Scalar): number {
  const [numberA, numberB] = [numberOf(a), numberOf(b)];
  if (numberA !== undefined && numberB !== undefined && numberA !== numberB) {
    return numberA - numberB;
  }
  const [left, right] = [stringifyJson(a), stringifyJson(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Returns when the value changes without a new event, ms since 1970; undefined: never. */
export function changesAt(spec: CounterSpec, counter: Counter, nowMs: number): number | undefined {
  if (spec.windowMs === undefined) return undefined;
  const oldest = live(spec, counter, nowMs)[0];
  return oldest && (oldest[0] + 1) * bucketMs(spec.windowMs) + spec.windowMs;
}
