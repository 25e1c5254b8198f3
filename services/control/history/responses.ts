import { storedBytes } from '../../../shared/model/attempt-events';
import { isEmptyResponse, type StoredResponse } from '../../../shared/model/stored-response';
import { type DeliveryRow } from './delivery-row';
import { copied, copiedJson } from './row-codec';
import { type StoredPlace, type TriedUrl, type Try } from './tries';

/**
 * The responses of a delivery. They lie in the table `responses`, because lists and counts read the
 * rows of deliveries, and a response may be longer than a hundred rows. Pure.
 */

/** Of one delivery. */
export const MOST_RESPONSE_BYTES = 256 * 1024;

/** A row of the table. */
export interface ResponseRow {
  acceptedAt: number;
  delivery: string;
  seq: number;
  /** the response as JSON, as COPY takes it */
  text: string;
}

interface MovedResponses {
  /** the row without responses, other than empty ones */
  row: DeliveryRow;
  added: ResponseRow[];
  /** the numbers of stored responses that the row no longer has */
  removed: number[];
}

/**
 * Moves the responses out of a row. An empty one stays there, where it takes no more than its place
 * would. If they are too long together, the oldest are left out.
 * @param before the row as it is stored; undefined: it is new
 */
export function moveResponses(before: DeliveryRow | undefined, after: DeliveryRow): MovedResponses {
  const known = before ? placesIn(before.tries).map(({ seq }) => seq) : [];
  const next = Math.max(-1, ...known) + 1;
  const given = after.tries
    .flatMap(({ urls }) => urls.flatMap(({ response }) => response ?? []))
    .filter((response) => !isEmptyResponse(response));
  const places = new Map<StoredResponse, StoredPlace>(
    given.map((response, i) => [response, { seq: next + i, bytes: storedBytes(response) }]),
  );
  const kept = newestOf([...placesIn(after.tries), ...places.values()]);
  const moved = (tried: TriedUrl): TriedUrl => {
    const { response, stored, ...url } = tried;
    if (response && isEmptyResponse(response)) return tried;
    const place = response ? places.get(response) : stored;
    return place && kept.has(place.seq) ? { ...url, stored: place } : url;
  };
  const tries = after.tries.map((each) => ({ ...each, urls: each.urls.map(moved) }));
  const { id: delivery, acceptedAt } = after;
  const added: ResponseRow[] = [];
  for (const [response, { seq }] of places) {
    if (kept.has(seq)) added.push({ acceptedAt, delivery, seq, text: copiedJson(response) });
  }
  return { row: { ...after, tries }, added, removed: known.filter((seq) => !kept.has(seq)) };
}

function placesIn(tries: readonly Try[]): StoredPlace[] {
  return tries.flatMap(({ urls }) => urls.flatMap(({ stored }) => stored ?? []));
}

/** Returns the numbers of the newest responses that fit into the limit. */
function newestOf(places: readonly StoredPlace[]): ReadonlySet<number> {
  const kept = new Set<number>();
  let left = MOST_RESPONSE_BYTES;
  for (const { seq, bytes } of [...places].sort((a, b) => b.seq - a.seq)) {
    left -= bytes;
    if (left < 0) break;
    kept.add(seq);
  }
  return kept;
}

export const RESPONSE_COLUMNS = 'accepted_at, delivery, seq, response';

/** Returns the line of a response in the text format of COPY, without the line break. */
export function responseLine({ acceptedAt, delivery, seq, text }: ResponseRow): string {
  return [acceptedAt, copied(delivery), seq, text].join('\t');
}
