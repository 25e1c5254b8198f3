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
  removed: number[];
}

/**
 * Moves the responses out of a row. An empty one stays there, where it takes no more than its place
 * would. If they are too long together, the oldest are left out.
 * @param before the row as it is stored; undefined: it is new
 */
export function moveResponses(before: DeliveryRow | undefined, after: DeliveryRow): MovedResponses {
  const known = before ? placesIn(before.tries).map(({ seq }) => seq) : [];
  let next = Math.max(-1, ...known) + 1;
  const added: ResponseRow[] = [];
  const moved = (tried: TriedUrl): TriedUrl => {
    const { response } = tried;
    if (!response || isEmptyResponse(response)) return tried;
    const { text, bytes } = writtenOf(response);
    const seq = next++;
    added.push({ acceptedAt: after.acceptedAt, delivery: after.id, seq, text });
    return withPlace(tried, { seq, bytes });
  };
  const tries = withUrls(after.tries, moved);
  const row = Object.assign({}, after, { tries });
  const places = placesIn(tries);
  const bytes = places.reduce((sum, place) => sum + place.bytes, 0);
  // Most deliveries have one attempt.
  if (known.length === 0 && bytes <= MOST_RESPONSE_BYTES) return { row, added, removed: [] };
  const kept = newestOf(places);
  const fits = (tried: TriedUrl): TriedUrl =>
    tried.stored && !kept.has(tried.stored.seq) ? withPlace(tried, undefined) : tried;
  row.tries = withUrls(tries, fits);
  return {
    row,
    added: added.filter(({ seq }) => kept.has(seq)),
    removed: known.filter((seq) => !kept.has(seq)),
  };
}

/** Copies with `Object.assign`: V8 makes dictionaries of copies by `...`. */
function withUrls(tries: readonly Try[], change: (url: TriedUrl) => TriedUrl): Try[] {
  return tries.map((each) => Object.assign({}, each, { urls: each.urls.map(change) }));
}

function withPlace(tried: TriedUrl, stored: StoredPlace | undefined): TriedUrl {
  return Object.assign({}, tried, { response: undefined, stored });
}

/** The rows of a record share their responses. */
const written = new WeakMap<StoredResponse, { text: string; bytes: number }>();

function writtenOf(response: StoredResponse): { text: string; bytes: number } {
  let known = written.get(response);
  if (!known) {
    known = { text: copiedJson(response), bytes: storedBytes(response) };
    written.set(response, known);
  }
  return known;
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
