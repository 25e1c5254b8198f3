import { type AttemptEvent, type DeliveryEvent, type UrlAttempt } from '../../../shared/model/attempt-events';

/** Reads the health of a destination from a record of `attempts`. Pure. */

/** Times are ms since 1970. */
export type Evidence =
  | { kind: 'ok'; destination: string; at: number }
  /** `until`: announced time of the next attempt; `at` if none follows */
  | { kind: 'failed'; destination: string; at: number; until: number; error: string }
  | { kind: 'dead'; destination: string; at: number };

/**
 * @returns undefined for records without an outcome, unreadable ones, and test sends, whose result a person sees anyway
 */
export function evidenceOf(value: Buffer | null): Evidence | undefined {
  if (!value) return undefined;
  try {
    return judge(successOf(value) ?? (JSON.parse(value.toString()) as DeliveryEvent));
  } catch {
    return undefined;
  }
}

const BEFORE_URLS = Buffer.from(',"urls":[');
const AFTER_URLS = Buffer.from(']}');

/**
 * Parses a successful attempt up to its URLs, if they are its last field. Nearly all records are successful attempts,
 * and the stored responses are most of their length. JSON escapes quotes in strings, so no string can contain the mark.
 */
function successOf(value: Buffer): DeliveryEvent | undefined {
  const end = value.indexOf(BEFORE_URLS);
  if (end < 0 || !value.subarray(-AFTER_URLS.length).equals(AFTER_URLS)) return undefined;
  try {
    const head = JSON.parse(`${value.toString('utf8', 0, end)}}`) as AttemptEvent;
    return head.outcome === 'delivered' ? head : undefined;
  } catch {
    // The writer used another order of fields.
    return undefined;
  }
}

function judge(event: DeliveryEvent): Evidence | undefined {
  const { destination } = event;
  const at = Date.parse(event.at);
  if (event.test || typeof destination !== 'string' || Number.isNaN(at)) return undefined;
  if (event.kind === 'dead') return { kind: 'dead', destination, at };
  // A late event adds to an attempt that the success of another URL has settled.
  if (event.kind !== 'attempt' || event.late) return undefined;
  if (event.outcome === 'delivered') return { kind: 'ok', destination, at };
  const next = event.nextAttemptAt === undefined ? at : Date.parse(event.nextAttemptAt);
  return { kind: 'failed', destination, at, until: Math.max(at, next || at), error: errorOf(event.urls) };
}

/** Describes the last URL that failed. Error messages contain no path and no secret. */
function errorOf(urls: readonly UrlAttempt[]): string {
  const failed = urls.findLast(({ outcome }) => outcome !== 'delivered');
  return failed ? wordsFor(failed) : 'no answer is known';
}

function wordsFor({ origin, status, error }: UrlAttempt): string {
  const what = status === undefined ? error && `${error.code}: ${error.message}` : `status ${String(status)}`;
  return `${origin}: ${what ?? 'no answer is known'}`;
}
