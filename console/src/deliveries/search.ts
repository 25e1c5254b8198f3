import { FILTER_STATUSES } from '../../../shared/model/reasons';
import { TYPES } from '../lib/labels';
import { spanMs } from '../lib/times';

/**
 * The language of the search field of deliveries: `status:dead code:5xx user:u-17 since:1h "A-17"`.
 * A word with a known key before its colon is a filter, and all other text is searched for. Pure.
 */

export const KEYS = [
  'status',
  'destination',
  'source',
  'event',
  'type',
  'code',
  'error',
  'user',
  'message',
  'since',
  'until',
  'batch',
  'replay',
] as const;
export type Key = (typeof KEYS)[number];

export interface Token {
  key: Key;
  value: string;
}

interface Parsed {
  /** the filters, in order */
  tokens: Token[];
  /** the rest: what is searched for, with the quotes that somebody wrote */
  words: string;
  /** the filter at the end whose value is still being typed */
  open: Token | undefined;
}

/** `key:value` or `key:"a value with spaces"`, text in quotes, or a word. */
const PART = /(\w+):("[^"]*"?|\S*)|"[^"]*"?|\S+/g;

export function parseSearch(text: string): Parsed {
  const tokens: Token[] = [];
  const words: string[] = [];
  let open: Token | undefined;
  for (const match of text.matchAll(PART)) {
    const [part, name = '', value = ''] = match;
    const key = keyNamed(name);
    if (key === undefined) {
      words.push(part);
      continue;
    }
    const token = { key, value: value.replaceAll('"', '') };
    const isLast = match.index + part.length === text.length;
    const isClosed = /^".*"$/.test(value);
    if (isLast && !isClosed) open = token;
    else if (token.value !== '') tokens.push(token);
  }
  return { tokens, words: words.join(' '), open };
}

function keyNamed(name: string): Key | undefined {
  return KEYS.find((key) => key === name.toLowerCase());
}

/** Why a filter is not possible. */
export type Problem = 'status' | 'type' | 'code' | 'time';

/**
 * Returns a filter as the address has it, or why it is not possible. A span of time stays one, so
 * that a saved view moves with the time.
 */
export function checked({ key, value }: Token): Token | { problem: Problem } {
  const lower = value.toLowerCase();
  if (key === 'status') {
    return isOneOf(FILTER_STATUSES, lower) ? { key, value: lower } : { problem: 'status' };
  }
  if (key === 'type') {
    return isOneOf(TYPES, lower) ? { key, value: lower } : { problem: 'type' };
  }
  if (key === 'code') {
    return /^[1-5](xx|\d\d)$/.test(lower) ? { key, value: lower } : { problem: 'code' };
  }
  if ((key === 'since' || key === 'until') && !isTime(value)) return { problem: 'time' };
  return { key, value };
}

function isOneOf(options: readonly string[], value: string): boolean {
  return options.includes(value);
}

function isTime(value: string): boolean {
  return spanMs(value) !== undefined || !Number.isNaN(Date.parse(value));
}
