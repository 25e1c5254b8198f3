import { type Delivery } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { wasNotStored } from '../../../shared/model/stored-response';
import { latency } from '../lib/labels';
import { text } from '../texts';

const words = text.delivery.differences;

/** The difference between two attempts. Pure. */

type Attempt = Delivery['attempts'][number];
type Try = Attempt['urls'][number];

export interface Change {
  what: string;
  before: string;
  after: string;
}

/** Response headers that differ in every response and mean nothing. */
const NOISE = new Set(['date']);

/** Returns the facts that differ, by URL. Facts that only one attempt has read `–`. */
export function changesBetween(before: Attempt, after: Attempt): Change[] {
  const urls = [...new Set([...before.urls, ...after.urls].map(({ url }) => url))];
  return urls.flatMap((id, i) => {
    const find = ({ urls: all }: Attempt) => all.find(({ url }) => url === id);
    const [was, is] = [factsOf(find(before)), factsOf(find(after))];
    const prefix = urls.length === 1 ? '' : words.url(i + 1);
    return [...new Set([...was.keys(), ...is.keys()])]
      .map((what) => ({
        what: prefix + what,
        before: was.get(what) ?? '–',
        after: is.get(what) ?? '–',
      }))
      .filter((change) => change.before !== change.after);
  });
}

function factsOf(of: Try | undefined): Map<string, string> {
  if (!of) return new Map();
  const response = of.response && wasNotStored(of.response) ? undefined : of.response;
  return new Map(
    compact([
      [words.address, of.address ?? of.request?.url ?? of.origin] as const,
      [words.outcome, of.outcome] as const,
      of.status === undefined ? undefined : ([words.status, String(of.status)] as const),
      of.error ? ([words.error, `${of.error.message} (${of.error.code})`] as const) : undefined,
      [words.time, latency(of.durationMs)] as const,
      ...Object.entries(of.phases ?? {}).map(
        ([phase, ms]) => [words.phase(phase), latency(ms)] as const,
      ),
      ...headerFacts(words.requestHeader, of.request?.headers),
      ...headerFacts(words.responseHeader, response?.headers),
      response ? ([words.responseBody, response.body] as const) : undefined,
    ]),
  );
}

function headerFacts(
  what: string,
  headers: Record<string, string> | undefined,
): (readonly [string, string])[] {
  return Object.entries(headers ?? {})
    .filter(([name]) => !NOISE.has(name.toLowerCase()))
    .map(([name, value]) => [`${what} ${name}`, value] as const);
}
