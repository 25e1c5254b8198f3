import { Problem } from './problem';
import { type z } from 'zod';
import { type pageParameters } from './query';

/** Entity tags and pages of lists. */

/** Returns the version of an entry as a strong entity tag. */
export function etag(version: number): string {
  return `"${version}"`;
}

/**
 * @param ifMatch the header, or undefined to accept any version
 * @throws Problem `stale` (412) if it names neither the version nor `*`
 */
export function requireMatch(ifMatch: string | undefined, version: number): void {
  if (ifMatch === undefined) return;
  const wanted = ifMatch.split(',').map((part) => part.trim());
  // A weak tag never matches (RFC 9110, section 13.1.1).
  if (wanted.includes('*') || wanted.includes(etag(version))) return;
  throw new Problem('stale', `If-Match does not match the current version ${etag(version)}. Read the entry again`, {
    headers: { ETag: etag(version) },
  });
}

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
