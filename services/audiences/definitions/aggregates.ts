import { type Compute } from '../../../shared/model/audience-definition';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { countsFor, type TrustedSources } from './trusted-sources';

/**
 * What a profile counts: pure, and a function of the events alone.
 *
 * A window is kept in buckets of time (`bucketMs`), each with what its events come to, so that a profile holds at most
 * BUCKETS + 2 of them however much its user does. An event counts as long as its bucket is not older than the one that the
 * window's beginning falls into: never less than the window, and at most one bucket longer. Without a window there is one
 * bucket. An event's time is the message's `timestamp`, and never later than its arrival.
 */

/** What one counter counts. */
export interface CounterSpec {
  /** of one revision of one definition: a definition that changes counts anew */
  id: string;
  compute: Compute;
  event: string;
  /** names of objects within objects are joined by dots; absent: `first` and `last` are times */
  property?: string;
  /** absent: all there ever was */
  windowMs?: number;
  /** absent: of all sources, of whatever trust */
  sources?: TrustedSources;
}

/** A track event as it is counted. */
export interface Counted {
  source: string;
  event: string;
  properties: JsonObject;
  /** ms since 1970 */
  atMs: number;
}

type Scalar = string | number | boolean;
/** `first` and `last`: the time and the value there */
type Moment = [atMs: number, value: Scalar | null];
/** `most_frequent` and `unique`: each value and how often it came */
type Tally = [value: Scalar, times: number][];
type Content = number | Moment | Tally;

/** What is kept of a counter in a profile. */
export interface Counter {
  /** offset of the last event that it counted: none is counted twice */
  o: number;
  /** the oldest first: number of the bucket since 1970, and its content */
  b: [number, Content][];
}

const BUCKETS = 64;
/** Of a counter, over all of its buckets: beyond it the rarest value of the oldest bucket gives way. */
export const MAX_VALUES = 100;
/** Longer texts are no values to tell people apart by. */
const MAX_TEXT_LENGTH = 256;

/** The width of a bucket: a 64th of the window, in whole seconds. Without a window all time is one bucket. */
export function bucketMs(windowMs: number): number {
  return Math.ceil(windowMs / BUCKETS / 1_000) * 1_000;
}

function bucketOf(spec: CounterSpec, atMs: number): number {
  return spec.windowMs === undefined ? 0 : Math.floor(atMs / bucketMs(spec.windowMs));
}

/** The oldest bucket that counts. */
function oldestOf(spec: CounterSpec, nowMs: number): number {
  return spec.windowMs === undefined ? 0 : bucketOf(spec, nowMs - spec.windowMs);
}

/** What an event says to a counter; undefined: nothing. */
function contentOf(spec: CounterSpec, { properties, atMs }: Counted): Content | undefined {
  const value = spec.property === undefined ? undefined : propertyOf(properties, spec.property);
  switch (spec.compute) {
    case 'count':
      return spec.property === undefined || (value !== undefined && value !== null) ? 1 : undefined;
    case 'sum':
    case 'min':
    case 'max':
      return typeof value === 'number' ? value : undefined;
    case 'first':
    case 'last':
      if (spec.property === undefined) return [atMs, null];
      return isScalar(value) ? [atMs, value] : undefined;
    case 'most_frequent':
    case 'unique':
      return isScalar(value) ? [[value, 1]] : undefined;
  }
}

/** A property by its own name, or within objects. */
function propertyOf(properties: JsonObject, path: string): Json | undefined {
  if (Object.hasOwn(properties, path)) return properties[path];
  let at: Json | undefined = properties;
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

function isScalar(value: Json | undefined): value is Scalar {
  if (typeof value === 'string') return value.length <= MAX_TEXT_LENGTH;
  return typeof value === 'number' || typeof value === 'boolean';
}

/**
 * Counts an event.
 * @param offset of the event's record: one that is not higher than the counter's last is left out
 * @returns the counter as it is now, or undefined where nothing changes
 */
export function count(
  spec: CounterSpec,
  counter: Counter | undefined,
  event: Counted,
  { offset, nowMs }: { offset: number; nowMs: number },
): Counter | undefined {
  if (event.event !== spec.event || (counter && counter.o >= offset)) return undefined;
  if (spec.sources && !countsFor(spec.sources, event.source)) return undefined;
  const bucket = bucketOf(spec, event.atMs);
  if (bucket < oldestOf(spec, nowMs)) return undefined;
  const content = contentOf(spec, event);
  if (content === undefined) return undefined;
  return { o: offset, b: join(spec, live(spec, counter, nowMs), [[bucket, content]]) };
}

/** Both as one: what an alias moves. */
export function mergeCounters(
  spec: CounterSpec,
  into: Counter | undefined,
  from: Counter,
  { offset, nowMs }: { offset: number; nowMs: number },
): Counter | undefined {
  if (into && into.o >= offset) return undefined;
  return { o: offset, b: join(spec, live(spec, into, nowMs), live(spec, from, nowMs)) };
}

function live(spec: CounterSpec, counter: Counter | undefined, nowMs: number): Counter['b'] {
  const oldest = oldestOf(spec, nowMs);
  return counter?.b.filter(([bucket]) => bucket >= oldest) ?? [];
}

function join(spec: CounterSpec, into: Counter['b'], from: Counter['b']): Counter['b'] {
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
      // Of one moment the later arrival.
      return (b as Moment)[0] >= (a as Moment)[0] ? b : a;
    case 'most_frequent':
    case 'unique':
      return tallied(a as Tally, b as Tally);
  }
}

function tallied(...tallies: Tally[]): Tally {
  const times = new Map<Scalar, number>();
  for (const [value, n] of tallies.flat()) times.set(value, (times.get(value) ?? 0) + n);
  return [...times];
}

/** The rarest value of the oldest bucket gives way; of equally rare ones the one that came first. */
function bounded(buckets: Counter['b']): Counter['b'] {
  let over = buckets.reduce((sum, [, content]) => sum + (content as Tally).length, 0) - MAX_VALUES;
  const kept: Counter['b'] = [];
  for (const [bucket, content] of buckets) {
    const tally = [...(content as Tally)];
    for (; over > 0 && tally.length > 0; over--) {
      const rarest = tally.reduce((least, [, n], i) => (n < (tally[least]?.[1] ?? 0) ? i : least), 0);
      tally.splice(rarest, 1);
    }
    if (tally.length > 0) kept.push([bucket, tally]);
  }
  return kept;
}

/** What a counter says of somebody who did nothing: nobody is told of it. */
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
 * What a counter says at a time. `first` and `last` without a property are ms since 1970; `unique` is the list of values in
 * order; of equally frequent values `most_frequent` is the first in that order.
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
        return next[1] > best[1] || (next[1] === best[1] && inOrder(next[0], best[0]) < 0) ? next : best;
      })[0];
  }
}

function inOrder(a: Scalar, b: Scalar): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** When the counter says something else although nothing comes, ms since 1970; undefined: never. */
export function changesAt(spec: CounterSpec, counter: Counter, nowMs: number): number | undefined {
  if (spec.windowMs === undefined) return undefined;
  const oldest = live(spec, counter, nowMs)[0];
  return oldest && (oldest[0] + 1) * bucketMs(spec.windowMs) + spec.windowMs;
}
