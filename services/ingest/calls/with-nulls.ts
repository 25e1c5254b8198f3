import { BACKSLASH, QUOTE } from './json-bytes';

const NOT_A_NUMBER = /-?(?:NaN|Infinity)/g;
const BEFORE_VALUE = /[[,:\s]/;
const AFTER_VALUE = /[\]},\s]/;

/**
 * Returns the text with `null` in place of `NaN`, `Infinity` and `-Infinity`, which Python and
 * others write for a missing value. Texts that contain these words are left alone.
 */
export function withNulls(text: string): string {
  let changed = '';
  let copied = 0;
  let at = 0;
  let inString = false;
  for (const match of text.matchAll(NOT_A_NUMBER)) {
    const start = match.index;
    const end = start + match[0].length;
    for (; at < start; at++) {
      const character = text.charCodeAt(at);
      if (character === QUOTE) inString = !inString;
      else if (character === BACKSLASH && inString) at++;
    }
    if (inString || at > start || !standsAlone(text, start, end)) continue;
    changed += `${text.slice(copied, start)}null`;
    copied = end;
  }
  return copied === 0 ? text : changed + text.slice(copied);
}

function standsAlone(text: string, start: number, end: number): boolean {
  const before = start === 0 || BEFORE_VALUE.test(text[start - 1] ?? '');
  const after = end === text.length || AFTER_VALUE.test(text[end] ?? '');
  return before && after;
}
