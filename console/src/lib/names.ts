import { text } from '../texts';

const words = text.lib.names;

/** A cell has room for these. */
export const MOST_NAMED = 3;

/** Names the first of several entries, and counts the others. Pure. @param names by id */
export function namesInShort(ids: readonly string[], names: ReadonlyMap<string, string>): string {
  const named = ids.slice(0, MOST_NAMED).map((id) => names.get(id) ?? id);
  const more = ids.length - named.length;
  return [...named, ...(more > 0 ? [words.more(more)] : [])].join(', ');
}
