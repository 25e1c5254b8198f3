import { type AttemptEvent, storedBytes } from '../../../shared/model/attempt-events';
import {
  batchOf,
  contextOf,
  eventOfRow,
  type Places,
  placesOf,
  type Rows,
} from '../../../shared/model/attempt-rows';
import { isTime } from '../../../shared/model/delivery';
import { cutEventName } from '../../../shared/model/message';
import { isoTime } from '../../../shared/model/time';
import { type CountSums } from './minute-counts';
import { isEmptyResponse } from '../../../shared/model/stored-response';
import { MOST_RESPONSE_BYTES, responseLine } from './responses';
import { copied, copiedJson, copiedList, NULL } from './row-codec';
import { isId, storedId } from './stored-id';
import { type StoredPlace } from './tries';

/**
 * A row of `attempts` that adds a delivery: its first attempt succeeded. Most deliveries have no
 * other event, so the history goes from the cells of the row to the line of COPY, without an event
 * and the row of the delivery in between.
 *
 * Invariant: it adds the same lines and counts as its event (`applyEvent`, `moveResponses`, `toCopy`,
 * `responseLine`, `countsOf`).
 */
export class DeliveredRow {
  readonly kind = 'delivered';
  readonly delivery: string;
  /** ms since 1970 */
  readonly acceptedAtMs: number;

  constructor(
    private readonly record: OpenRows,
    private readonly cells: readonly unknown[],
  ) {
    this.delivery = cells[record.places.delivery] as string;
    this.acceptedAtMs = cells[record.places.acceptedAt] as number;
  }

  /** Returns its event. */
  event(): AttemptEvent {
    return eventOfRow(this.record.rows, this.record.places, this.cells);
  }

  get sender(): { userId?: string | undefined; anonymousId?: string | undefined; source: string } {
    const { places } = this.record;
    const id = (place: number) => (this.cells[place] ?? undefined) as string | undefined;
    return {
      userId: id(places.userId),
      anonymousId: id(places.anonymousId),
      source: this.#context.source,
    };
  }

  count(counts: CountSums): void {
    counts.addDelivered(this.#context.destination, {
      acceptedAt: this.acceptedAtMs,
      settledAt: this.#atMs,
    });
  }

  /** Returns its line for COPY, without the line break. */
  line(): string {
    const { places, rows } = this.record;
    const { cells, acceptedAtMs } = this;
    const number = (place: number) => cells[place] as number;
    const context = this.#context;
    const response = this.record.responses[number(places.response)];
    const [n, phases] = [number(places.n), cells[places.phases]];
    const batch = batchOf(rows.batches, cells[places.batch]);
    const atMs = this.#atMs;
    let request = `${context.request}${number(places.urlDurationMs)}${response?.json ?? ''}`;
    if (phases) request += `,"phases":${copiedJson(phases)}`;
    if (number(places.resent) === 1) request += ',"resent":true';
    if (batch) request += `,"batch":${copiedJson(batch)}`;
    if (response?.place !== undefined) request += `,"stored":${response.place}`;
    const tries =
      `[{"n":${n},"replay":0,"at":"${isoTime(atMs)}","durationMs":${number(places.durationMs)},` +
      `"outcome":"delivered","urls":[${request}}]}]`;
    // A text joined by `+` or `${…}` takes three times the memory of its result until it is
    // written.
    return [
      acceptedAtMs,
      copied(this.delivery),
      copied(cells[places.message] as string),
      context.about,
      idOrNull(cells[places.userId]),
      'delivered',
      NULL,
      acceptedAtMs + number(places.windowMs),
      NULL,
      atMs,
      0,
      0,
      n,
      'f',
      `${context.place}/${number(places.offset)}`,
      tries,
      idOrNull(cells[places.anonymousId]),
      context.event,
      response?.status ?? NULL,
      NULL,
      NULL,
      batch ? copiedList([batch.id]) : NULL,
      NULL,
      NULL,
    ].join('\t');
  }

  /** Returns the line of its response, as `line` does; undefined if it adds none. */
  responseLine(): string | undefined {
    const { responses, places } = this.record;
    const text = responses[this.cells[places.response] as number]?.text;
    if (text === undefined) return undefined;
    return responseLine({ acceptedAt: this.acceptedAtMs, delivery: this.delivery, seq: 0, text });
  }

  get #atMs(): number {
    return this.acceptedAtMs + (this.cells[this.record.places.ageMs] as number);
  }

  get #context(): ContextText {
    return contextOf(this.record.contexts, this.cells[this.record.places.context]);
  }
}

function idOrNull(cell: unknown): string {
  return typeof cell === 'string' ? copied(storedId(cell)) : NULL;
}

/** The parts of a context as they are in the line of each of its rows. */
interface ContextText {
  source: string;
  destination: string;
  about: string;
  event: string;
  place: string;
  /** the start of a request as JSON, up to its duration */
  request: string;
  /** false if an id or the partition is not what it should be */
  usable: boolean;
}

interface OpenRows {
  rows: Rows;
  places: Places;
  contexts: ContextText[];
  responses: ResponseText[];
}

/** The parts of a response as they are in the lines of each row that has it. */
interface ResponseText {
  status: number | undefined;
  /** the fields of its request */
  json: string;
  /** its place, and itself; undefined: there is none, or it is empty */
  place: string | undefined;
  text: string | undefined;
  /** false if it is too long to be stored */
  usable: boolean;
}

/**
 * Reads the rows of a record.
 * @returns an event in place of each row that does not add a delivery, or whose cells are not what
 *   they should be
 * @throws RangeError, TypeError if the record cannot be read
 */
export function openRows(rows: Rows): (DeliveredRow | AttemptEvent)[] {
  const places = placesOf(rows.columns);
  const contexts = rows.contexts.map((context) => {
    const { source, destination, type, event, topic, partition, url, origin, destinationVersion } =
      context;
    const request = copiedJson({
      url,
      origin,
      destinationVersion,
      outcome: 'delivered',
      durationMs: 0,
    });
    return {
      source,
      destination,
      place: copied(`${topic}/${String(partition)}`),
      about: [source, destination, type].map(copied).join('\t'),
      event: event === undefined ? NULL : copied(cutEventName(event)),
      request: request.slice(0, -'0}'.length),
      usable: [source, destination, type, topic].every(isId) && Number.isInteger(partition),
    };
  });
  const responses = rows.responses.map(responseText);
  const record: OpenRows = { rows, places, contexts, responses };
  return rows.rows.map((row) =>
    isPlain(record, row) ? new DeliveredRow(record, row) : eventOfRow(rows, places, row),
  );
}

function responseText(answer: Rows['responses'][number]): ResponseText {
  const { response, ...rest } = answer;
  const isMoved = response !== undefined && !isEmptyResponse(response);
  const json = copiedJson(isMoved ? rest : answer).slice(1, -1);
  const bytes = isMoved ? storedBytes(response) : 0;
  return {
    status: answer.status,
    json: json && `,${json}`,
    place: isMoved ? copiedJson({ seq: 0, bytes } satisfies StoredPlace) : undefined,
    text: isMoved ? copiedJson(response) : undefined,
    usable: bytes <= MOST_RESPONSE_BYTES,
  };
}

const NUMBERS = [
  'acceptedAt',
  'windowMs',
  'ageMs',
  'offset',
  'n',
  'durationMs',
  'urlDurationMs',
] as const;

function isPlain({ places, contexts, responses }: OpenRows, row: readonly unknown[]): boolean {
  if (row[places.replay] !== 0 || row[places.hop] !== 0) return false;
  for (const column of NUMBERS) if (!Number.isSafeInteger(row[places[column]])) return false;
  if (!contextOf(contexts, row[places.context]).usable) return false;
  if (responses[row[places.response] as number]?.usable === false) return false;
  if (!isId(row[places.delivery]) || !isId(row[places.message])) return false;
  const [acceptedAt, windowMs, ageMs] = [
    row[places.acceptedAt],
    row[places.windowMs],
    row[places.ageMs],
  ] as [number, number, number];
  return isTime(acceptedAt) && isTime(acceptedAt + windowMs) && isTime(acceptedAt + ageMs);
}
