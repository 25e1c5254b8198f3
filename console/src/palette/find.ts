import { compact } from '../../../shared/collections/defined';

/** What the palette offers for the words that somebody typed. Pure. */

export interface PaletteEntry {
  /** its name, as the user reads it */
  name: string;
  to: string;
}

/** The texts of the offers, in the language of the console. */
interface Words {
  delivery: (id: string) => string;
  replay: (id: string) => string;
  searchFor: (text: string) => string;
  user: (text: string) => string;
  message: (text: string) => string;
}

/** Searches of bodies need three characters. */
const MIN_SEARCH = 3;

const query = (name: string, text: string) => new URLSearchParams([[name, text]]).toString();

/** Returns the entries whose name has all words of the text, in any order. */
export function entriesWith(entries: readonly PaletteEntry[], text: string): PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/);
  return entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

/**
 * Returns where the text itself may lead: an id has its page, and any other text can be searched.
 */
export function leadsOf(typed: string, words: Words): PaletteEntry[] {
  const text = typed.trim();
  if (/^dlv_\S+$/.test(text)) return [{ name: words.delivery(text), to: `/deliveries/${text}` }];
  if (/^rpl_\S+$/.test(text)) return [{ name: words.replay(text), to: `/replays/${text}` }];
  if (text === '') return [];
  return compact([
    text.length >= MIN_SEARCH
      ? { name: words.searchFor(text), to: `/deliveries?${query('q', text)}` }
      : undefined,
    { name: words.user(text), to: `/deliveries?${query('user', text)}` },
    { name: words.message(text), to: `/lookup?${query('message', text)}` },
  ]);
}
