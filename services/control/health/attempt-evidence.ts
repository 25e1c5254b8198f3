import { defined } from '../../../shared/collections/defined';
import {
  type AttemptEvent,
  type DeliveryEvent,
  isNoticeEvent,
  type NoticeEvent,
  type UrlAttempt,
  type WaitingEvent,
} from '../../../shared/model/attempt-events';
import { contextOf, columnIndexes, type Rows } from '../../../shared/model/attempt-rows';
import { ALERTS_ID } from '../../../shared/model/config';
import { type Fact, factOf } from './facts';

/** Reads what a record of `attempts` shows of trouble, or of its end. Pure. */

/** Code and HTTP status of an error, and the id of the webhook whose URL failed. */
export interface Cause {
  code?: string;
  status?: number;
  url?: string;
}

/** Times are ms since 1970. */
export type Evidence = HealthEvidence | { kind: 'fact'; fact: Fact };

export type HealthEvidence =
  | { kind: 'ok'; destination: string; at: number }
  /** `until`: announced time of the next attempt; `at` if none follows */
  | ({ kind: 'failed'; destination: string; at: number; until: number; error: string } & Cause)
  /**
   * nothing can be sent to it, and nothing is written until that changes; `until`: the end of the
   * delivery's window; `error` is only in the evidence of the delivery that met the cause
   */
  | ({ kind: 'blocked'; destination: string; at: number; until: number; error?: string } & Cause)
  | { kind: 'dead'; destination: string; at: number }
  /** another URL accepted the delivery, and this one failed or was not called */
  | { kind: 'partly'; destination: string; at: number; error: string };

/**
 * @returns none for records without an outcome, unreadable ones, and test sends, whose result a
 * person sees anyway. One for each destination with successes in rows: the last one
 */
export function evidenceOf(value: Buffer | null): Evidence[] {
  if (!value) return [];
  try {
    const parsed =
      successOf(value) ?? (JSON.parse(value.toString()) as DeliveryEvent | NoticeEvent | Rows);
    if (isNoticeEvent(parsed)) {
      const fact = factOf(parsed);
      return fact ? [{ kind: 'fact', fact }] : [];
    }
    if (parsed.kind === 'delivered') {
      return Array.from(lastSuccesses(parsed), ([destination, at]) => ({
        kind: 'ok' as const,
        destination,
        at,
      }));
    }
    return judge(parsed);
  } catch {
    return [];
  }
}

function lastSuccesses({ columns, contexts, rows }: Rows): Map<string, number> {
  const last = new Map<string, number>();
  const indexes = columnIndexes(columns);
  for (const row of rows) {
    const { destination } = contextOf(contexts, row[indexes.context]);
    const atMs = Number(row[indexes.acceptedAt]) + Number(row[indexes.ageMs]);
    if (atMs > (last.get(destination) ?? -Infinity)) last.set(destination, atMs);
  }
  return last;
}

const BEFORE_URLS = Buffer.from(',"urls":[');
const AFTER_URLS = Buffer.from('}]}');
/** The begin of `retry` and `rejected`. */
const FAILED_URL = Buffer.from('"outcome":"re');

/**
 * Parses a successful attempt up to its URLs, if they are its last field. Nearly all records are
 * successful attempts, and the stored responses are most of their length. JSON escapes quotes in
 * strings, so no string can contain the mark.
 */
function successOf(value: Buffer): DeliveryEvent | undefined {
  const end = value.indexOf(BEFORE_URLS);
  if (end < 0 || !value.subarray(-AFTER_URLS.length).equals(AFTER_URLS)) return undefined;
  try {
    const head = JSON.parse(`${value.toString('utf8', 0, end)}}`) as AttemptEvent;
    return head.outcome === 'delivered' && !value.includes(FAILED_URL, end) ? head : undefined;
  } catch {
    // The writer used another order of fields.
    return undefined;
  }
}

function judge(event: DeliveryEvent): HealthEvidence[] {
  const { destination } = event;
  const at = Date.parse(event.at);
  if (event.test || typeof destination !== 'string' || Number.isNaN(at)) return [];
  if (event.kind === 'dead') return [{ kind: 'dead', destination, at }];
  if (event.kind === 'waiting') return blockOf(event, at);
  if (event.kind !== 'attempt') return [];
  const lacking = lackOf(event);
  const partly: HealthEvidence[] =
    lacking === undefined ? [] : [{ kind: 'partly', destination, at, error: lacking }];
  // A late event adds to an attempt that the success of another URL has settled.
  if (event.late) return partly;
  if (event.outcome === 'delivered') return [{ kind: 'ok', destination, at }, ...partly];
  return [
    {
      kind: 'failed',
      destination,
      at,
      until: timeOf(event.nextAttemptAt, at),
      ...errorOf(event.urls),
    },
  ];
}

/** Returns the time, if it is known and not before another one. */
function timeOf(text: string | undefined, at: number): number {
  return Math.max(at, Date.parse(text ?? '') || at);
}

/** A delivery waits for this only if no URL can take it. Circuits have their own events. */
const BLOCKING: readonly string[] = ['token', 'proxy', 'secrets_unreadable'];

function blockOf(event: WaitingEvent, at: number): HealthEvidence[] {
  const { destination, reason, urls = [] } = event;
  if (!BLOCKING.includes(reason)) return [];
  const unreadable = { error: 'the secrets of the destination cannot be decrypted', code: reason };
  const cause = urls.length > 0 ? errorOf(urls) : reason === 'secrets_unreadable' ? unreadable : {};
  return [{ kind: 'blocked', destination, at, until: timeOf(event.expiresAt, at), ...cause }];
}

/**
 * Returns why a delivery that a URL accepted lacks another one; undefined: it lacks none. Each
 * alert goes to the endpoints of one channel, so it never reaches all of them.
 */
function lackOf({
  destination,
  outcome,
  notCalled = [],
  urls = [],
}: Partial<AttemptEvent>): string | undefined {
  if (outcome !== 'delivered' || destination === ALERTS_ID) return undefined;
  const failed = urls.findLast((url) => url.outcome !== 'delivered');
  if (failed) return wordsFor(failed);
  const count = notCalled.length;
  return count === 0
    ? undefined
    : `${String(count)} ${count === 1 ? 'URL was' : 'URLs were'} not called: rejected ` +
        'earlier, or without room';
}

/** Describes the last URL that failed. Error messages contain no path and no secret. */
function errorOf(urls: readonly UrlAttempt[]): { error: string } & Cause {
  const failed = urls.findLast(({ outcome }) => outcome !== 'delivered');
  if (!failed) return { error: 'no answer is known' };
  const { url, status, error } = failed;
  return {
    error: wordsFor(failed),
    ...defined({
      code: error ? error.code : undefined,
      status,
      url,
    }),
  };
}

function wordsFor({ origin, status, error }: UrlAttempt): string {
  const what = status === undefined ? error?.message : `HTTP ${String(status)}`;
  return `${origin}: ${what ?? 'no answer is known'}`;
}
