import { type Deliveries, type Delivery } from '../../shared/api/operations';
import { urlWord } from '../../shared/model/reasons';
import { printable } from '../../shared/runtime/printable';
import { goesOnInShort } from '../explain/goes-on';
import { cut } from './cut';
import { paintOf } from './paint';
import { type Column } from './table';

/** Deliveries and attempts as rows. */

export type DeliveryRow = Deliveries['data'][number];
type Attempt = Delivery['attempts'][number];
type Url = Attempt['urls'][number];
export interface AttemptedUrl {
  attempt: Attempt;
  url: Url;
}
interface Try {
  attempt: Attempt;
  /**
   * `origin` of a URL that the attempt did not call: the URL as the destination has it today, or
   * its id if it is unknown
   */
  url: Partial<Omit<Url, 'outcome'>> & { origin: string; outcome: Url['outcome'] | 'not called' };
}

/**
 * Returns a row for each URL of each attempt.
 * @param urls URLs of the destination today, by id
 */
export function triesOf(
  attempts: readonly Attempt[],
  urls: ReadonlyMap<string, string | null>,
): Try[] {
  return attempts.flatMap((attempt) => {
    const others = (attempt.notCalled ?? []).map((id) => ({
      origin: urls.get(id) ?? id,
      outcome: 'not called' as const,
    }));
    return [...attempt.urls, ...others].map((url) => ({ attempt, url }));
  });
}

export const DELIVERY_COLUMNS: Column<DeliveryRow>[] = [
  { title: 'ACCEPTED', of: ({ acceptedAt }) => acceptedAt },
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status, paint: ({ status }) => paintOf(status) },
  { title: 'REASON', of: ({ reason }) => reason },
  { title: 'CODE', of: ({ lastStatusCode, lastError }) => lastStatusCode ?? lastError?.code },
  {
    title: 'DESTINATION',
    of: ({ destination, destinationName }) => destinationName ?? destination,
  },
  { title: 'TYPE', of: ({ type }) => type },
  { title: 'EVENT', of: ({ event }) => event },
  { title: 'USER', of: ({ userId }) => userId },
  { title: 'TRIES', of: ({ attemptsMade }) => attemptsMade, right: true },
  { title: 'GOES ON', of: ({ goesOn }) => goesOn && goesOnInShort(goesOn, Date.now()) },
];

/**
 * Names an attempt. Each replay counts its attempts from 1. Without a request, no attempt was made.
 */
export function tryOf({ n, replay, withheld }: Pick<Attempt, 'n' | 'replay' | 'withheld'>): string {
  if (withheld) return 'not sent';
  return replay === 0 ? String(n) : `${String(n)} of replay ${String(replay)}`;
}

function outcomeOf({ attempt, url }: Try): string {
  return url.outcome === 'not called' ? url.outcome : urlWord(url.outcome, attempt.outcome);
}

/** Returns the URL that was called: as far as the token may see it, and as far as it is known. */
export function calledUrl({ request, origin }: Try['url']): string {
  return request?.url ?? origin;
}

/**
 * Returns the method and the headers of each request. One that repeats an earlier try has its
 * signature alone, which is stored with the response unless that was a 2xx.
 */
export function requestsInWords(tries: readonly Try[]): string[] {
  const shown = new Map<string | undefined, string>();
  return tries.flatMap(({ attempt, url }) => {
    if (!url.request) return [];
    const { method, headers } = url.request;
    const { signature = {} } = url.response ?? {};
    const head = `${method} ${printable(calledUrl(url))}`;
    const request = [head, ...linesOf(headers)].join('\n');
    const isRepeat = shown.get(url.url) === request;
    shown.set(url.url, request);
    const lines = linesOf(isRepeat ? signature : { ...headers, ...signature });
    if (isRepeat && lines.length === 0) lines.push('  as before; its signature is not kept');
    return [[`request of try ${tryOf(attempt)}: ${head}`, ...lines].join('\n')];
  });
}

const MOST_OF_BODY = 500;

export function responseInWords(response: NonNullable<Url['response']>): string {
  if (response.body !== '') return printable(cut(response.body, MOST_OF_BODY));
  return response.truncated ? 'its body is not kept' : 'no body';
}

function linesOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).map(([name, value]) => `  ${printable(`${name}: ${value}`)}`);
}

export const ATTEMPT_COLUMNS: Column<Try>[] = [
  { title: 'TRY', of: ({ attempt }) => tryOf(attempt), right: true },
  { title: 'AT', of: ({ attempt }) => attempt.at },
  { title: 'URL', of: ({ url }) => calledUrl(url) },
  { title: 'OUTCOME', of: outcomeOf, paint: (row) => paintOf(outcomeOf(row)) },
  { title: 'STATUS', of: ({ url }) => url.status, right: true },
  { title: 'MS', of: ({ url }) => url.durationMs && Math.round(url.durationMs), right: true },
  { title: 'ERROR', of: ({ url }) => url.error?.message },
];
