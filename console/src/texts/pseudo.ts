import { createElement, Fragment, isValidElement, type ReactNode } from 'react';

/**
 * Makes a pseudo-language for tests: texts that do not come from the catalogue stay plain English
 * on the page, and texts that are a third longer show what does not fit. Pure.
 */

const PLAIN = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const ACCENTED = 'áƀćďéƒǧĥíĵķĺɱńóƥɋřšťúṽŵẋýžÁƁĆĎÉƑǦĤÍĴĶĹṀŃÓƤɊŘŠŤÚṼŴẊÝŽ';

/** Names, code, addresses and durations: a translator would keep them, too. */
const KEPT = /[\d_=@/\\{}<>()[\]"#*]|\w[.:]\w|[a-z][A-Z]|^[A-Z]{2,}|[A-Z]-[A-Z]/;

/**
 * Returns the text of the catalogue in the pseudo-locale: ⟦Šéńď á ťéšť ~~~⟧. An empty text stays
 * empty.
 */
function pseudoText(text: string): string {
  return text === '' ? '' : `⟦${accented(text)}${padding(text)}⟧`;
}

function accented(text: string): string {
  return text.replace(/\S+/g, (word) =>
    KEPT.test(word)
      ? word
      : word.replace(/[a-z]/gi, (letter) => ACCENTED.charAt(PLAIN.indexOf(letter))),
  );
}

/** Most languages need more room than English, in words of a usual length. */
function padding(text: string): string {
  const more = '~'.repeat(Math.ceil(text.length * 0.3));
  return ` ${more.replace(/~{8}(?=~)/g, '~~~~~~~~ ')}`;
}

/** Returns the catalogue in the pseudo-locale. The values of a text stay as they are. */
export function pseudo<T>(catalogue: T): T {
  return translated(catalogue) as T;
}

function translated(entry: unknown): unknown {
  if (typeof entry === 'string') return pseudoText(entry);
  if (typeof entry === 'function') {
    return (...values: unknown[]) =>
      ofResult((entry as (...values: unknown[]) => unknown)(...values), values);
  }
  if (typeof entry !== 'object' || entry === null) return entry;
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, translated(value)]));
}

function ofResult(result: unknown, values: readonly unknown[]): unknown {
  if (typeof result === 'string') return around(result, values);
  if (!isValidElement<{ children?: ReactNode }>(result) || values.includes(result)) return result;
  const { children } = result.props;
  const translatedChildren = [children].flat().map((child) => {
    const isText = typeof child === 'string' && /[A-Za-z]/.test(child) && !values.includes(child);
    return isText ? pseudoText(child) : child;
  });
  return createElement(Fragment, null, ...translatedChildren);
}

/** Keeps the values that the text contains. */
function around(text: string, values: readonly unknown[]): string {
  if (text === '') return '';
  const kept = values.filter((value): value is string => typeof value === 'string' && value !== '');
  let changed = '';
  for (let rest = text; rest !== '';) {
    const [at, value] = kept.reduce<[number, string]>(
      ([first, found], each) => {
        const next = rest.indexOf(each);
        return next >= 0 && (next < first || (next === first && each.length > found.length))
          ? [next, each]
          : [first, found];
      },
      [rest.length, ''],
    );
    changed += accented(rest.slice(0, at)) + value;
    rest = rest.slice(at + value.length);
  }
  return `⟦${changed}${padding(text)}⟧`;
}
