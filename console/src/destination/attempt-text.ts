import { parseJson } from '../../../shared/json/json';
import { type Delivery } from '../../../shared/api/operations';
import { certificateInWords } from '../lib/labels';
import { text } from '../texts';

const words = text.destination.attemptText;

/** Describes the result of a request. Pure. */

type Try = Delivery['attempts'][number]['urls'][number];

/**
 * Returns a sentence about an error, with its code, and the phase unless the code names it;
 * undefined if the status says all.
 */
export function errorInWords(
  error: NonNullable<Try['error']>,
  status: number | undefined,
): string | undefined {
  const { code, phase, message } = error;
  if (code === 'status') return isRedirect(status) ? words.noRedirects : undefined;
  const where = phase === undefined || phase === code ? code : words.during(code, phase);
  const forbidden = code === 'forbidden_address' ? words.mayBeAllowed : '';
  const meaning = certificateInWords(message);
  return `${message}${meaning === undefined ? '' : `: ${meaning}`}${forbidden} (${where})`;
}

function isRedirect(status: number | undefined): boolean {
  return status !== undefined && status >= 300 && status < 400;
}

/** Parses a text that looks like a JSON object or list; undefined for any other. */
export function jsonIn(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Says how many URLs accepted a message. */
export function acceptedInWords(urls: readonly Pick<Try, 'outcome'>[]): string {
  const accepted = urls.filter(({ outcome }) => outcome === 'delivered').length;
  return words.accepted(accepted, urls.length);
}

/** Returns the URLs of these webhooks, or in words why one is not known. */
export function urlsInWords(
  ids: readonly string[],
  webhooks: readonly { id: string; url: string | null }[],
): string[] {
  const urls = new Map(webhooks.map(({ id, url }) => [id, url ?? text.destination.unreadableUrl]));
  return ids.map((id) => urls.get(id) ?? text.destination.removedUrl);
}
