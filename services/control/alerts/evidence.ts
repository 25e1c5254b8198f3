import { type UrlAttempt } from '../../../shared/domain/attempt';
import { type DeliveryRow, type Try } from '../history/delivery-row';
import { newTries } from '../history/tally';

/**
 * What a change in the history says of its destination's health: pure. Since only changes speak, an event of `attempts`
 * that is read twice speaks once.
 */

/** Times are ms since 1970. */
export type Evidence =
  | { kind: 'ok'; destination: string; at: number }
  /** `until`: when the next attempt was announced for; `at` where none is to follow */
  | { kind: 'failed'; destination: string; at: number; until: number; error: string }
  | { kind: 'dead'; destination: string; at: number };

/** Tests say nothing: a person sits before them. */
export function evidenceOf(before: DeliveryRow | undefined, after: DeliveryRow): Evidence[] {
  if (after.test) return [];
  const { destination } = after;
  const evidence = newTries(before, after).map((each): Evidence => {
    const at = Date.parse(each.at);
    if (each.outcome === 'delivered') return { kind: 'ok', destination, at };
    const until = after.status === 'retrying' ? Math.max(at, after.nextAt ?? at) : at;
    return { kind: 'failed', destination, at, until, error: errorOf(each) };
  });
  const died = after.status === 'dead' && (before?.status !== 'dead' || before.replay !== after.replay);
  if (died && after.settledAt !== null) evidence.push({ kind: 'dead', destination, at: after.settledAt });
  return evidence;
}

/** Of several URLs the last one that failed. No message of an error has a path or a secret in it. */
function errorOf({ urls }: Try): string {
  const failed = urls.filter(({ outcome }) => outcome !== 'delivered').at(-1);
  return failed ? wordsFor(failed) : 'no answer is known';
}

function wordsFor({ origin, status, error }: UrlAttempt): string {
  const what = status === undefined ? error && `${error.code}: ${error.message}` : `status ${String(status)}`;
  return `${origin}: ${what ?? 'no answer is known'}`;
}
