import { type DeliveryRow } from './delivery-row';
import { type Row } from './database';
import { batchesOf, lastOf, type Try } from './tries';

/** Converts the row of a delivery between the database and the code. */

/** Name and type of each column, for reading a set of records from JSON. */
const TYPES = {
  accepted_at: 'bigint',
  id: 'text',
  message: 'text',
  source: 'text',
  destination: 'text',
  type: 'text',
  user_id: 'text',
  status: 'text',
  reason: 'text',
  expires_at: 'bigint',
  next_at: 'bigint',
  settled_at: 'bigint',
  replay: 'int',
  hop: 'int',
  made: 'int',
  test: 'boolean',
  record: 'text',
  tries: 'text',
  anonymous_id: 'text',
  event: 'text',
  /** these three are for filters: `tries` contains them */
  last_status: 'int',
  last_error: 'text',
  dead_error: 'text',
  batches: 'text[]',
  job: 'text',
  job_result: 'text',
} as const;
type Column = keyof typeof TYPES;
type ColumnValue = string | number | boolean | null | readonly string[];
const NAMES = Object.keys(TYPES) as Column[];

export const COLUMNS = NAMES.join(', ');
/** For `jsonb_to_recordset(…) as given(…)`. */
export const COLUMN_TYPES = NAMES.map((name) => `${name} ${TYPES[name]}`).join(', ');
/** For `on conflict … do update`. */
export const COLUMN_UPDATES = NAMES.filter((name) => name !== 'id' && name !== 'accepted_at')
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

export function toColumns(row: DeliveryRow): Record<Column, ColumnValue> {
  const last = lastOf(row);
  return {
    accepted_at: row.acceptedAt,
    id: row.id,
    message: row.message,
    source: row.source,
    destination: row.destination,
    type: row.type,
    user_id: row.userId,
    status: row.status,
    reason: row.reason,
    expires_at: row.expiresAt,
    next_at: row.nextAt,
    settled_at: row.settledAt,
    replay: row.replay,
    hop: row.hop,
    made: row.made,
    test: row.test,
    record: row.record,
    // A JSON string: the database never looks into it, and parsing it would take time.
    tries: JSON.stringify(row.tries),
    anonymous_id: row.anonymousId,
    event: row.event,
    last_status: last.status,
    last_error: last.error?.code ?? null,
    dead_error: row.deadError,
    batches: batchesOf(row.tries),
    job: row.job,
    job_result: row.jobResult,
  };
}

const NULL = '\\N';
/** A text of PostgreSQL cannot contain NUL. */
const ESCAPED: Record<string, string> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\ufffd',
};
const SPECIAL = /[\\\t\n\r\0]/;
const ALL_SPECIAL = new RegExp(SPECIAL, 'g');

/**
 * Returns the line of a row in the text format of COPY, in the order of `COLUMNS`, without the line
 * break.
 */
export function toCopy(row: DeliveryRow): string {
  const columns = toColumns(row);
  // A text joined by `+` or `${…}` takes three times the memory of its result until it is written.
  return NAMES.map((name) => copiedValue(columns[name])).join('\t');
}

function copiedValue(value: ColumnValue): string | number {
  if (value === null) return NULL;
  if (typeof value === 'string') return copied(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return typeof value === 'number' ? value : copiedList(value);
}

/** Returns an array of PostgreSQL. Its elements are quoted as in JSON. */
function copiedList(items: readonly string[]): string {
  return copied(`{${items.map((item) => JSON.stringify(item)).join(',')}}`);
}

/** Returns a value as JSON. JSON contains none of the other special characters. */
export function copiedJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.includes('\\') ? json.replaceAll('\\', '\\\\') : json;
}

export function copied(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (each) => ESCAPED[each] ?? each) : text;
}

export function fromColumns(columns: Row): DeliveryRow {
  const row = columns as Record<Column, never>;
  return {
    id: row.id,
    acceptedAt: row.accepted_at,
    message: row.message,
    source: row.source,
    destination: row.destination,
    type: row.type,
    userId: row.user_id,
    anonymousId: row.anonymous_id,
    event: row.event,
    job: row.job,
    jobResult: row.job_result,
    status: row.status,
    reason: row.reason,
    expiresAt: row.expires_at,
    nextAt: row.next_at,
    settledAt: row.settled_at,
    replay: row.replay,
    hop: row.hop,
    made: row.made,
    test: row.test,
    record: row.record,
    tries: JSON.parse(row.tries) as Try[],
    deadError: row.dead_error,
  };
}
