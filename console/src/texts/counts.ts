import { LOCALE } from './locale';

/** Numbers in texts. */

/** Formats a number: 1,234. */
export function count(n: number): string {
  return n.toLocaleString(LOCALE);
}

/** Formats a count: 1 notice, 2 notices. */
export function counted(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? '' : 's'}`;
}
