import {
  type AttemptEvent,
  isNoticeEvent,
  type StoredEvent,
  type UrlAttempt,
} from './attempt-events';
import { type BatchPlace } from './batch';
import { type Delivery } from './delivery';
import { isoTime } from './time';

/**
 * Writes successful attempts of many deliveries as one record of `attempts`: rows with the same
 * fields as single events (docs/design/decisions/0042-rows-of-attempts.md). It reads such records
 * and those with a single event.
 */

/**
 * The columns of a row. A reader finds a column by its name in the record, because a newer version
 * may add some.
 */
const COLUMNS = [
  'context',
  'response',
  'delivery',
  'message',
  'userId',
  'anonymousId',
  /**
   * ms since 1970; `windowMs` and `ageMs` lead from there to the end of the window and to the event
   */
  'acceptedAt',
  'windowMs',
  'ageMs',
  'replay',
  'hop',
  'n',
  'offset',
  'traceparent',
  /** of the attempt, and of its only request */
  'durationMs',
  'urlDurationMs',
  'phases',
  'resent',
] as const;
type Column = (typeof COLUMNS)[number];

/** The fields that many rows share. */
interface Context {
  source: string;
  destination: string;
  type: Delivery['type'];
  event?: string;
  topic: string;
  partition: number;
  url: string;
  origin: string;
  destinationVersion: number;
}

/** A record as JSON. The first cells of a row refer to a context and to a response. */
export interface Rows {
  kind: 'delivered';
  columns: readonly string[];
  contexts: Context[];
  responses: Pick<UrlAttempt, 'status' | 'response' | 'gzip' | 'oddities'>[];
  rows: unknown[][];
  /** absent if no row was sent in a batch */
  batches?: Omit<BatchPlace, 'index'>[];
}

/** A successful attempt with one request, which was no test. */
export interface PlainSuccess {
  delivery: Delivery;
  record: AttemptEvent['record'];
  url: UrlAttempt;
  durationMs: number;
  /** time of the event, ms since 1970 */
  atMs: number;
}

/**
 * Only records with a batch have this last column: the batch's index in `batches`, and the place in
 * it.
 */
const BATCH = 'batch';

const headOf = (columns: readonly string[]) =>
  `{"kind":"delivered","columns":${JSON.stringify(columns)},"contexts":[`;
const HEAD = headOf(COLUMNS);
const BATCH_HEAD = headOf([...COLUMNS, BATCH]);
/** Bytes of a row beside its texts. */
const ROW_BYTES = 150;

/** Collects rows for one record. */
export class AttemptRows {
  readonly #contexts = new Map<string, number>();
  readonly #contextTexts: string[] = [];
  readonly #responses = new Map<string, number>();
  readonly #rows: unknown[][] = [];
  readonly #batches: Omit<BatchPlace, 'index'>[] = [];
  #bytes = HEAD.length;

  /** About the length of the record. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#rows.length;
  }

  add(success: PlainSuccess): void {
    const { delivery: d, record, url, durationMs, atMs } = success;
    this.#bytes +=
      ROW_BYTES + d.id.length + d.messageId.length + (d.userId ?? d.anonymousId ?? '').length;
    const row: unknown[] = [
      this.#context(success),
      this.#response(url),
      d.id,
      d.messageId,
      d.userId ?? null,
      d.anonymousId ?? null,
      d.acceptedAt,
      d.expiresAt - d.acceptedAt,
      atMs - d.acceptedAt,
      d.replay,
      d.hop,
      d.attempt + 1,
      record.offset,
      d.traceparent,
      durationMs,
      url.durationMs,
      url.phases ?? null,
      url.resent ? 1 : 0,
    ];
    if (url.batch) row.push(this.#batch(url.batch));
    this.#rows.push(row);
  }

  /** Returns the value of the record. */
  toString(): string {
    const responses = [...this.#responses.keys()].join(',');
    const [first] = this.#batches;
    const tail = first ? `,"batches":${JSON.stringify(this.#batches)}}` : '}';
    return `${first ? BATCH_HEAD : HEAD}${this.#contextTexts.join(',')}],"responses":[${responses}],"rows":${JSON.stringify(this.#rows)}${tail}`;
  }

  #context({ delivery, record, url }: PlainSuccess): number {
    const { sourceId: source, destinationId: destination, type, event } = delivery;
    const { topic, partition } = record;
    const { origin, destinationVersion } = url;
    // No id, origin, topic or version contains a line break. An event may, and is the last.
    const key = [
      destination,
      url.url,
      origin,
      destinationVersion,
      source,
      type,
      topic,
      partition,
      event,
    ].join('\n');
    const known = this.#contexts.get(key);
    if (known !== undefined) return known;
    const context = {
      source,
      destination,
      type,
      event,
      topic,
      partition,
      url: url.url,
      origin,
      destinationVersion,
    };
    this.#contexts.set(key, this.#contextTexts.length);
    const text = JSON.stringify(context);
    this.#bytes += text.length;
    return this.#contextTexts.push(text) - 1;
  }

  #batch({ id, size, index, first }: BatchPlace): [at: number, index: number] {
    // Deliveries of a batch follow each other.
    if (this.#batches.at(-1)?.id !== id) this.#batches.push({ id, size, first });
    return [this.#batches.length - 1, index];
  }

  #response({ status, response, gzip, oddities }: UrlAttempt): number {
    const text = JSON.stringify({ status, response, gzip, oddities });
    const known = this.#responses.get(text);
    if (known !== undefined) return known;
    this.#responses.set(text, this.#responses.size);
    this.#bytes += Buffer.byteLength(text);
    return this.#responses.size - 1;
  }
}

/**
 * Returns the events of a record of `attempts`, whose fields are not checked. Leaves out events for
 * alerts.
 * @throws SyntaxError, TypeError, RangeError if it cannot be read
 */
export function readEvents(value: Buffer | string | null): StoredEvent[] {
  const parsed = JSON.parse(String(value)) as StoredEvent | Rows;
  if (parsed.kind !== 'delivered') return isNoticeEvent(parsed) ? [] : [parsed];
  const indexes = columnIndexes(parsed.columns);
  return parsed.rows.map((row) => eventOfRow(parsed, indexes, row));
}

/**
 * Returns the event of one row. @throws RangeError if it refers to what its record does not have
 */
function eventOfRow(record: Rows, indexes: ColumnIndexes, row: readonly unknown[]): AttemptEvent {
  const text = (column: Column) => row[indexes[column]] as string;
  const number = (column: Column) => row[indexes[column]] as number;
  const context = contextOf(record.contexts, number('context'));
  const { source, destination, type, event, topic, partition, url, origin, destinationVersion } =
    context;
  const [acceptedAt, durationMs] = [number('acceptedAt'), number('urlDurationMs')];
  const phases = row[indexes.phases] as UrlAttempt['phases'] | null;
  // One field after the other: V8 makes dictionaries of copies (`...`), which takes twice as long.
  const request: UrlAttempt = { url, origin, destinationVersion, outcome: 'delivered', durationMs };
  Object.assign(request, record.responses[number('response')]);
  if (phases) request.phases = phases;
  if (number('resent') === 1) request.resent = true;
  request.batch = batchOf(record.batches, row[indexes.batch]);
  return {
    kind: 'attempt',
    delivery: text('delivery'),
    message: text('message'),
    source,
    destination,
    type,
    event,
    userId: (row[indexes.userId] ?? undefined) as string | undefined,
    anonymousId: (row[indexes.anonymousId] ?? undefined) as string | undefined,
    acceptedAt: isoTime(acceptedAt),
    expiresAt: isoTime(acceptedAt + number('windowMs')),
    replay: number('replay'),
    hop: number('hop'),
    n: number('n'),
    traceparent: text('traceparent'),
    record: { topic, partition, offset: number('offset') },
    at: isoTime(acceptedAt + number('ageMs')),
    outcome: 'delivered',
    durationMs: number('durationMs'),
    urls: [request],
  };
}

/** Returns the batch of a row; undefined if it was sent alone. */
function batchOf(batches: Rows['batches'], cell: unknown): BatchPlace | undefined {
  const [at = -1, index = 0] = Array.isArray(cell) ? (cell as number[]) : [];
  const batch = batches?.[at];
  return batch && { ...batch, index };
}

/** Returns the context of a row. @throws RangeError if the record does not have it */
export function contextOf<C>(contexts: readonly C[], index: unknown): C {
  const context = contexts[Number(index)];
  if (!context) throw new RangeError('a row refers to a context that its record does not have');
  return context;
}

/** The index of each column in the rows; -1: it has no batches */
export type ColumnIndexes = Readonly<Record<Column | typeof BATCH, number>>;

/**
 * Returns the index of each column in the rows. @throws RangeError if the record does not have a
 * column
 */
export function columnIndexes(columns: readonly string[]): ColumnIndexes {
  const indexes = Object.fromEntries(
    [...COLUMNS, BATCH].map((column) => [column, columns.indexOf(column)]),
  );
  const missing = COLUMNS.find((column) => indexes[column] === -1);
  if (missing) throw new RangeError(`the rows have no column ${missing}`);
  return indexes as ColumnIndexes;
}
