import { isJsonObject, type Json } from '../../../shared/model/message';
import { Problem } from './problem';

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
  throw new Problem(
    'stale',
    `If-Match does not match the current version ${etag(version)}. Read the entry again`,
    {
      headers: { ETag: etag(version) },
    },
  );
}

/**
 * Merges by RFC 7396: absent members stay, `null` removes, objects merge, and any other value (a
 * list too) replaces the old one. Neither argument is changed.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  // A Map and fromEntries, so that a key such as __proto__ stays a key.
  const merged = new Map<string, Json>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
