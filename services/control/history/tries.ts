import { defined } from '../../../shared/collections/defined';
import {
  type AttemptEvent,
  type Outcome,
  type UrlAttempt,
  type UrlError,
  type WaitingEvent,
} from '../../../shared/model/attempt-events';
import { ALERTS_ID } from '../../../shared/model/config';
import { RENDER_FAILED } from '../../../shared/model/reasons';

/** The attempts in the row of a delivery. Pure. */

export interface StoredPlace {
  /** counts the responses of the delivery */
  seq: number;
  bytes: number;
}

/**
 * A request. In a row that is stored, the place of its response stands for it, unless it is empty
 * (responses.ts).
 */
export interface TriedUrl extends UrlAttempt {
  stored?: StoredPlace;
}

/** One attempt. `n` restarts with each replay. */
export interface Try {
  n: number;
  replay: number;
  at: string;
  durationMs: number;
  outcome: Outcome;
  urls: TriedUrl[];
  /** ids of URLs that a delivered attempt did not call; absent: none */
  notCalled?: string[];
  /** no request was sent, for example without an OAuth2 token: it counts as no attempt */
  withheld?: true;
}

/** Bounds the row if an endpoint keeps failing or a tier lasts milliseconds. */
const MAX_TRIES = 100;

/** Adds the try of an event. Returns the same list if it already contains the try. */
export function addTry(tries: Try[], event: AttemptEvent): Try[] {
  const { n, replay, at, durationMs, outcome, urls, notCalled } = event;
  const added: Try = {
    n,
    replay,
    at,
    durationMs,
    outcome,
    urls,
    ...defined({ notCalled }),
  };
  // Most deliveries have one attempt.
  if (tries.length === 0) return [added];
  const same = tries.filter((each) => each.n === n && each.replay === replay && !each.withheld);
  if (!event.late) return same.some((each) => each.at === at) ? tries : append(tries, added);
  // Requests that ended after the response of another URL had settled the attempt. A crash may have
  // repeated the attempt: the URLs are added to the last try without them.
  const lacks = (each: Try) =>
    !urls.some(({ url }) => each.urls.some((known) => known.url === url));
  const target = same.findLast(lacks);
  if (!target) return same.length > 0 ? tries : append(tries, added);
  const merged = {
    ...target,
    durationMs: Math.max(target.durationMs, durationMs),
    urls: [...target.urls, ...urls],
  };
  return tries.map((each) => (each === target ? merged : each));
}

/**
 * Adds the requests that were not sent, for example without an OAuth2 token, so that the row shows
 * why the delivery waits. They carry the number of the attempt that is still to come, and do not
 * count as one.
 */
export function addWithheld(tries: Try[], { n, replay, at, urls }: WaitingEvent): Try[] {
  if (!urls) return tries;
  if (tries.some((each) => each.at === at && each.replay === replay)) return tries;
  const durationMs = Math.max(...urls.map((url) => url.durationMs));
  const added: Try = { n: n + 1, replay, at, durationMs, outcome: 'retry', urls, withheld: true };
  return append(tries, added);
}

function append(tries: Try[], added: Try): Try[] {
  return [...tries, added].slice(-MAX_TRIES);
}

/**
 * Returns the status of a delivery that a URL has accepted. The last delivered attempt names the
 * URLs that count: the delivery does not miss a URL that was removed before. An earlier try counts
 * for a URL that this attempt did not call. An alert goes to the endpoints of one channel, and was
 * never meant for one that no attempt has called.
 */
export function settledStatus({
  destination,
  tries,
}: {
  destination: string;
  tries: readonly Try[];
}): 'delivered' | 'partly_delivered' {
  const last = tries.findLastIndex(({ outcome }) => outcome === 'delivered');
  const settled = tries[last];
  if (!settled) return 'delivered';
  const accepted = (id: string) => {
    for (let i = last; i >= 0; i--) {
      const url = tries[i]?.urls.find((each) => each.url === id);
      if (url) return url.outcome === 'delivered';
    }
    return destination === ALERTS_ID;
  };
  const isWhole =
    settled.urls.every(({ outcome }) => outcome === 'delivered') &&
    (settled.notCalled ?? []).every(accepted);
  return isWhole ? 'delivered' : 'partly_delivered';
}

export interface LastResponse {
  status: number | null;
  error: UrlError | null;
}

/**
 * Returns the last response of a delivery. One that was never rendered has none, and its own error.
 */
export function lastOf(row: {
  tries: readonly Try[];
  status: string;
  reason: string | null;
  deadError: string | null;
}) {
  if (row.status !== 'dead' || row.reason !== RENDER_FAILED) return lastResponse(row.tries);
  const message = row.deadError ?? 'the request could not be rendered';
  return { ...lastResponse(row.tries), error: { code: RENDER_FAILED, message } };
}

/** A failed URL counts before the other URLs of its attempt. */
export function lastResponse(tries: readonly Try[]): LastResponse {
  const failed = tries.at(-1)?.urls.findLast(({ outcome }) => outcome !== 'delivered');
  for (let i = tries.length - 1; i >= 0; i--) {
    const answered = tries[i]?.urls.filter(({ status }) => status !== undefined) ?? [];
    const url = answered.findLast(({ outcome }) => outcome !== 'delivered') ?? answered.at(-1);
    if (url) return { status: url.status ?? null, error: failed?.error ?? null };
  }
  return { status: null, error: failed?.error ?? null };
}

/**
 * Returns the ids of the batches that a delivery was sent in, each once; null if there are none.
 */
export function batchesOf(tries: readonly Try[]): string[] | null {
  let found: Set<string> | undefined;
  for (const { urls } of tries) {
    for (const { batch } of urls) if (batch) (found ??= new Set()).add(batch.id);
  }
  return found ? [...found] : null;
}

/**
 * Returns the number of the last replay. A row that was delivered keeps the number that it was
 * delivered with, and later replays appear in its attempts alone. The next replay needs another
 * number, or delivery drops it as a repeat.
 */
export function lastReplay({ replay, tries }: { replay: number; tries: readonly Try[] }): number {
  return tries.reduce((last, each) => Math.max(last, each.replay), Math.max(0, replay));
}
