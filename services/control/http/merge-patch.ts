import { type Json } from '../../../shared/model/message';

/**
 * Merges by RFC 7396: absent members stay, `null` removes, objects merge, and any other value (a list too) replaces the
 * old one. Neither argument is changed.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  // A Map and fromEntries, so that a key such as __proto__ stays a key.
  const merged = new Map<string, Json>(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
