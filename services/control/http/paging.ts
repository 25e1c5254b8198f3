import { type z } from 'zod';
import { type pageParameters } from '../../../shared/api/fields';
import { Problem } from './problem';
import { hasNul } from './validate';

/** Pages of lists, and the cursors between them. */

export interface Page<T> {
  data: T[];
  /** value for `after`; null at the end */
  next: string | null;
}

export type PageQuery = z.output<typeof pageParameters>;

/** Returns a page of entries ordered by id, which is the order of creation. */
export function page<T extends { data: { id: string } }>(entries: readonly T[], { limit, after }: PageQuery): Page<T> {
  const sorted = [...entries].sort((a, b) => (a.data.id < b.data.id ? -1 : 1));
  const rest = after === undefined ? sorted : sorted.filter(({ data }) => data.id > after);
  const data = rest.slice(0, limit);
  return { data, next: rest.length > limit ? (data.at(-1)?.data.id ?? null) : null };
}

interface Cursor {
  /** time in ms since 1970, or another whole number that orders the list */
  at: number;
  id: string;
}

/** Returns `next` of a list ordered by time and id, which clients pass as `after`. */
export function encodeCursor(at: number, id: string): string {
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

function badCursor(): Problem {
  const errors = [{ parameter: 'after', detail: 'must be the `next` of a previous page' }];
  return new Problem('invalid_fields', 'The requested page is invalid', { errors });
}
