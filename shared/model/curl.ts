import { compact } from '../collections/defined';
import { stringifyJson } from '../json/json';

/** A request as a command for a terminal. Pure. */

export interface ShownRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: unknown;
}

/**
 * Values that the API hides, headers that curl sets itself, and the encoding, since curl sends the
 * body as it is.
 */
const HIDDEN = '***';
const OMITTED = new Set([
  'content-length',
  'host',
  'connection',
  'transfer-encoding',
  'content-encoding',
]);

/**
 * Returns a curl command that repeats the request. A header whose value is hidden becomes a
 * comment, because the receiver would refuse a wrong value. The body is formatted again, so a
 * signature over its bytes would not match.
 */
export function curlOf({ method, url, headers, body }: ShownRequest): string {
  const entries = Object.entries(headers).filter(([name]) => !OMITTED.has(name.toLowerCase()));
  const shown = entries.filter(([, value]) => !value.includes(HIDDEN));
  const hidden = entries.filter(([, value]) => value.includes(HIDDEN)).map(([name]) => name);
  const lines = compact([
    `curl -i -X ${method} ${quoted(url)}`,
    ...shown.map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    body === null || body === undefined ? undefined : `  --data-raw ${quoted(textOf(body))}`,
  ]);
  const comment =
    hidden.length === 0
      ? ''
      : `# Not included, because their values are hidden: ${hidden.join(', ')}\n`;
  return comment + lines.join(' \\\n');
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : stringifyJson(body);
}

/** Quotes for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
