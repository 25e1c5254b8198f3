import { type Deliveries } from '../../../shared/api/operations';
import { answerInShort } from '../lib/labels';

/** Finds the last attempts of a destination among its deliveries. Pure. */

type Row = Deliveries['data'][number];
type Attempt = Row['attempts'][number];

export interface LastAttempt extends Attempt {
  delivery: Row;
}

/** @param lists lists of deliveries, which may share some */
export function lastAttempts(lists: readonly (readonly Row[])[], most: number): LastAttempt[] {
  const deliveries = new Map(lists.flat().map((row) => [row.id, row]));
  return [...deliveries.values()]
    .flatMap((delivery) => delivery.attempts.map((attempt) => ({ ...attempt, delivery })))
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
    .slice(0, most);
}

/**
 * Returns how long the endpoint took, ms: of several URLs the slowest. `durationMs` of the attempt
 * begins when it was admitted, and also holds its wait for a turn.
 */
export function tookOf({ urls, durationMs }: Pick<Attempt, 'urls' | 'durationMs'>): number {
  return urls.length === 0 ? durationMs : Math.max(...urls.map((url) => url.durationMs));
}

/**
 * Returns the status of the last URL that failed, or of the last one; the reason if there was no
 * response.
 */
export function responseInShort({ urls }: Pick<Attempt, 'urls'>): string {
  const url = urls.findLast(({ outcome }) => outcome !== 'delivered') ?? urls.at(-1);
  return answerInShort(url?.status, url?.error?.code);
}
