import { type z } from 'zod';
import { type pageParameters, type searchedPage, type Total } from '../../../shared/api/fields';
import { defined } from '../../../shared/collections/defined';
import { isoTime } from '../../../shared/model/time';
import { type Cursor } from '../history/newest';
import { Problem } from './problem';
import { hasNul } from './validate';

/** Pages of lists, and the cursors between them. */

interface Page<T> {
  data: T[];
  /** value for `after`; null at the end */
  next: string | null;
  total?: Total;
  /** of a page that ended before it was full */
  searched?: z.output<typeof searchedPage>;
}

export type PageQuery = z.output<typeof pageParameters>;

interface Identified {
  data: { id: string };
}

/**
 * Returns a page of entries ordered by id, which is the order of creation.
 * @param entries the same list as for the previous page, unless an entry changed: it is sorted once
 * @param isShown leaves out a few entries
 * @throws Problem `invalid_fields` for the cursor of a sorted list
 */
export function pageOfEntries<T extends Identified, V>(
  entries: readonly T[],
  { limit, after, total }: PageQuery,
  view: (entry: T) => V,
  isShown: (entry: T) => boolean = () => true,
): Page<V> {
  if (after !== undefined && positionIn(after)) throw cursorOfOtherSort();
  const sorted = sortedById(entries);
  const found: T[] = [];
  for (
    let i = after === undefined ? 0 : firstAfter(sorted, after);
    i < sorted.length && found.length <= limit;
    i++
  ) {
    const entry = sorted[i];
    if (entry && isShown(entry)) found.push(entry);
  }
  const page = pageOf(found, limit, { nextOf: ({ data }) => data.id, view });
  return {
    ...page,
    ...defined({
      total: total ? { count: entries.filter(isShown).length, exact: true } : undefined,
    }),
  };
}

const sortedLists = new WeakMap<readonly Identified[], readonly Identified[]>();

function sortedById<T extends Identified>(entries: readonly T[]): readonly T[] {
  const known = sortedLists.get(entries) as readonly T[] | undefined;
  if (known) return known;
  const sorted = [...entries].sort((a, b) => (a.data.id < b.data.id ? -1 : 1));
  sortedLists.set(entries, sorted);
  return sorted;
}

/** Returns the index of the first entry whose id is greater, by bisection. */
function firstAfter(sorted: readonly Identified[], id: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.data.id ?? '') > id) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Names sort alike in every language and process. */
const NAMES = new Intl.Collator('und');

/**
 * Returns a page of entries in the order of a value, and of the id where values are equal. The
 * cursor names the last value and id, so that a page goes on in the right place after a change.
 * @param page.sort a leading "-" turns the order around
 * @param valueOf a text or a number
 * @throws Problem `invalid_fields` for an `after` that is not a cursor of this order
 */
export function pageOfSorted<T extends Identified, V>(
  entries: readonly T[],
  { limit, after, total, sort }: PageQuery & { sort: string },
  { valueOf, view }: { valueOf: (entry: T) => string | number; view: (entry: T) => V },
): Page<V> {
  const turn = sort.startsWith('-') ? -1 : 1;
  const compare = (a: SortedPosition, b: SortedPosition) =>
    turn * (compareValues(a.value, b.value) || Number(a.id > b.id) - Number(a.id < b.id));
  const positions = entries.map((entry) => ({ entry, value: valueOf(entry), id: entry.data.id }));
  const last = after === undefined ? undefined : decodePosition(after, sort);
  const found = last ? positions.filter((position) => compare(position, last) > 0) : positions;
  const page = pageOf(firstSorted(found, limit + 1, compare), limit, {
    nextOf: ({ value, id }) => encodePosition(sort, { value, id }),
    view: ({ entry }) => view(entry),
  });
  return {
    ...page,
    ...defined({ total: total ? { count: entries.length, exact: true } : undefined }),
  };
}

/**
 * Returns the first `count` items in order. It does not sort the others, which may be very many.
 */
export function firstSorted<T>(
  items: readonly T[],
  count: number,
  compare: (a: T, b: T) => number,
): T[] {
  const first: T[] = [];
  for (const item of items) {
    const last = first[count - 1];
    if (last !== undefined && compare(item, last) >= 0) continue;
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = first[middle];
      if (other !== undefined && compare(other, item) <= 0) low = middle + 1;
      else high = middle;
    }
    first.splice(low, 0, item);
    first.length = Math.min(first.length, count);
  }
  return first;
}

/** The position of an entry in a sorted list. */
interface SortedPosition {
  value: string | number;
  id: string;
}

function compareValues(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number'
    ? a - b
    : NAMES.compare(String(a), String(b));
}

function encodePosition(sort: string, { value, id }: SortedPosition): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString('base64url');
}

/** @throws Problem `invalid_fields` */
function decodePosition(after: string, sort: string): SortedPosition {
  const found = positionIn(after);
  if (!found) throw badCursor();
  if (found.sort !== sort) throw cursorOfOtherSort();
  return found;
}

/** Returns undefined if it is no cursor of a sorted list. */
function positionIn(after: string): (SortedPosition & { sort: string }) | undefined {
  try {
    const [sort, value, id] = JSON.parse(Buffer.from(after, 'base64url').toString()) as unknown[];
    const isValue = typeof value === 'string' || typeof value === 'number';
    return typeof sort === 'string' && isValue && typeof id === 'string'
      ? { sort, value, id }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns whether a part of the name, or of the id, is a text, in upper or lower case, and the id
 * is one of these.
 */
export function isNamed(
  { id, name }: { id: string; name: string },
  { q, ids }: { q?: string | undefined; ids?: ReadonlySet<string> | undefined },
) {
  if (ids !== undefined && !ids.has(id)) return false;
  if (q === undefined) return true;
  const text = q.toLowerCase();
  return name.toLowerCase().includes(text) || id.toLowerCase().includes(text);
}

/**
 * Returns a page of a list.
 * @param found the page's items, in order, read with a limit of one more. The extra item means that
 *   a next page exists
 */
export function pageOf<T, V>(
  found: readonly T[],
  limit: number,
  { nextOf, view }: { nextOf: (last: T) => string; view: (item: T) => V },
): Page<V> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return {
    data: items.map(view),
    next: found.length > limit && last !== undefined ? nextOf(last) : null,
  };
}

/** What was read of a list in the database. */
interface ReadRows<T> {
  rows: readonly T[];
  /** the last row that was looked at; undefined: nothing is left, or the page is full */
  stoppedAt?: Cursor | undefined;
}

/**
 * Reads a page of a list in the database, ordered by time and id, and counts the list if the query
 * asks for it. A page that is not full goes on where it stopped to look.
 * @throws Problem `invalid_fields` for an `after` that is not a cursor
 */
export async function readPage<T, V>(
  { limit, after, total }: PageQuery,
  {
    read,
    count,
    cursorOf,
    view,
    newestMs = 0,
  }: {
    read: (page: { limit: number; after: Cursor | undefined }) => Promise<ReadRows<T>>;
    /** absent: the list is not counted */
    count?: () => Promise<Total>;
    cursorOf: (row: T) => Cursor;
    view: (row: T) => V;
    /** the time of the newest row that the list may have */
    newestMs?: number;
  },
): Promise<Page<V>> {
  const cursor = decodeCursor(after);
  const { rows, stoppedAt } = await read({ limit: limit + 1, after: cursor });
  const page = pageOf(rows, limit, { nextOf: (last) => encodeCursor(cursorOf(last)), view });
  const stop = page.next === null ? stoppedAt : undefined;
  return {
    ...page,
    next: stop ? encodeCursor(stop) : page.next,
    ...defined({
      total: total && count ? await count() : undefined,
      searched: stop && {
        from: isoTime(stop.at),
        to: isoTime(Math.max(stop.at, cursor?.at ?? newestMs)),
        complete: false,
      },
    }),
  };
}

/** Returns `next` of a list ordered by time and id, which clients pass as `after`. */
export function encodeCursor({ at, id }: Cursor): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/**
 * Reads a cursor of a list in the database.
 * @throws Problem `invalid_fields`
 */
export function decodeCursor(after: string | undefined): Cursor | undefined {
  const cursor = decodeAnyCursor(after);
  if (hasNul(cursor?.id)) throw badCursor();
  return cursor;
}

/**
 * Reads a cursor of a list outside the database, whose ids may contain any character.
 * @throws Problem `invalid_fields`
 */
export function decodeAnyCursor(after: string | undefined): Cursor | undefined {
  if (after === undefined) return undefined;
  const [, at, id] = /^(\d{1,15}) (.+)$/s.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  if (at === undefined || id === undefined) throw badCursor();
  return { at: Number(at), id };
}

function badCursor(detail = 'must be the `next` of a previous page'): Problem {
  const errors = [{ parameter: 'after', detail }];
  return new Problem('invalid_fields', 'The requested page is invalid', { errors });
}

function cursorOfOtherSort(): Problem {
  return badCursor('is the `next` of a list with another `sort`: give the same one, or no `after`');
}
