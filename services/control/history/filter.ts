import { compact } from '../../../shared/collections/defined';
import { ALERTS_ID } from '../../../shared/model/config';
import {
  type DeliveryStatus,
  type FilterStatus,
  isUnderWay,
  statusesOf,
} from '../../../shared/model/reasons';
import { databaseJson, type Param } from './database';
import { type DeliveryRow } from './delivery-row';
import { storedId } from './stored-id';

/**
 * The filters of deliveries, as conditions of SQL. For their indexes see table-partitions.ts.
 * Pure.
 */

export interface Filter {
  destination?: string | undefined;
  source?: string | undefined;
  status?: FilterStatus | undefined;
  /** ids of the paused destinations: a filter by status needs them */
  paused?: readonly string[] | undefined;
  message?: string | undefined;
  user?: string | undefined;
  type?: string | undefined;
  event?: string | undefined;
  batch?: string | undefined;
  /** status of the last response, from the first to the last of these */
  code?: { from: number; to: number } | undefined;
  error?: string | undefined;
  /** id of the job that sent them last */
  replay?: string | undefined;
  /** true: with an attempt; false: without one */
  attempted?: boolean | undefined;
  /** of deliveries */
  ids?: readonly string[] | undefined;
  /** accepted at this time or later, ms since 1970 */
  since?: number | undefined;
  /** accepted before this time, ms since 1970 */
  until?: number | undefined;
  /** ended at this time or later, ms since 1970 */
  endedSince?: number | undefined;
  /** ended before this time, ms since 1970 */
  endedUntil?: number | undefined;
  /** true: those that are counted (minute-counts.ts); false: the others */
  counted?: boolean | undefined;
}

type Parameter = (value: Param) => string;

/** SQL: what `countsOf` counts. */
const IS_COUNTED = `not test and destination <> '${ALERTS_ID}'`;

/**
 * Returns the status and the reason as they are now: the event of a pause that has ended says
 * something else. `shownStatus` says the same of the rows that a filter finds.
 */
export function standing(
  { status, reason, made }: Pick<DeliveryRow, 'status' | 'reason' | 'made'>,
  isPaused: boolean,
): { status: DeliveryStatus; reason: string | null } {
  return status === 'held' && reason === 'paused' && !isPaused
    ? { status: made > 0 ? 'retrying' : 'waiting', reason: null }
    : { status, reason };
}

/** SQL: `standing(…).status` of a row. @param paused JSON list of the paused destinations */
export function shownStatus(paused: string): string {
  return `case when status = 'held' and reason = 'paused'
      and destination not in (select jsonb_array_elements_text(${paused}::jsonb))
    then case when made > 0 then 'retrying' else 'waiting' end else status end`;
}

function storedStatuses(status: FilterStatus): readonly DeliveryStatus[] {
  return status === 'waiting' || status === 'retrying' ? [status, 'held'] : statusesOf(status);
}

export function parameters(): { params: Param[]; param: Parameter } {
  const params: Param[] = [];
  // A text of PostgreSQL cannot contain NUL: row-codec.ts stored U+FFFD instead.
  const param = (value: Param) =>
    `$${params.push(typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)}`;
  return { params, param };
}

export function whereOf(conditions: readonly string[]): string {
  return conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
}

export function allOf(conditions: readonly string[]): string {
  return conditions.length > 0 ? conditions.join(' and ') : 'true';
}

/** Returns no condition for a value that is not given. */
export function equalTo(
  param: Parameter,
  column: string,
  value: string | undefined,
): string | undefined {
  return value === undefined ? undefined : `${column} = ${param(value)}`;
}

/**
 * Conditions of the rows behind a cursor. An index by time can use the first one only.
 * @param keys order the rows of one time
 * @param values of the keys, as SQL
 */
export function behind(
  time: string,
  keys: readonly string[],
  at: string,
  values: readonly string[],
): string[] {
  return [`${time} <= ${at}`, `(${[time, ...keys].join(', ')}) < (${[at, ...values].join(', ')})`];
}

export interface Conditions {
  /**
   * Finds few rows, however long the history is; undefined: there is no such condition. Its index
   * need not have the order of the list.
   */
  few: string | undefined;
  /**
   * An index finds the rows of each in the order of the list, and each row that fits is one of
   * them.
   */
  ordered: readonly string[];
  /** all conditions, of a row that was found */
  fits: string;
}

/** Returns the conditions of a filter, except those of the time of acceptance. */
export function conditionsOf(filter: Filter, param: Parameter): Conditions {
  const { ids, code, status, attempted, counted } = filter;
  const equal = (column: string, value: string | undefined) => equalTo(param, column, value);
  const message = equal('message', filter.message);
  const batch =
    filter.batch === undefined ? undefined : `batches @> array[${param(filter.batch)}::text]`;
  const id =
    ids === undefined
      ? undefined
      : `id in (select jsonb_array_elements_text(${param(databaseJson(ids))}::jsonb))`;
  const job = equal('job', filter.replay);
  const user = equal('user_id', filter.user === undefined ? undefined : storedId(filter.user));
  const error = equal('last_error', filter.error);
  const event = equal('event', filter.event);
  const destination = equal('destination', filter.destination);
  const source = equal('source', filter.source);
  const type = equal('type', filter.type);
  const statuses = status === undefined ? [] : storedStatuses(status).map(statusCondition);
  const fits = compact([
    id,
    message,
    batch,
    job,
    user,
    error,
    event,
    destination,
    source,
    type,
    code && `last_status between ${param(code.from)}::int and ${param(code.to)}::int`,
    statuses.length > 0 ? `(${statuses.join(' or ')})` : undefined,
    isUnderWay(status)
      ? `(${shownStatus(param(databaseJson(filter.paused ?? [])))}) = ${param(status ?? null)}`
      : undefined,
    attempted === undefined ? undefined : attempted ? ATTEMPTED : 'made = 0',
    counted === undefined ? undefined : counted ? IS_COUNTED : `not (${IS_COUNTED})`,
    ...endedIn(filter, param),
  ]);
  // Each has an index. What comes first is usually rarest.
  const rare = job ?? user ?? error ?? (code && failureCondition(code)) ?? event;
  return {
    few: id ?? message ?? batch,
    ordered:
      rare === undefined
        ? commonOf({ statuses, status, destination, attempted, sourceOrType: source ?? type })
        : [rare],
    fits: allOf(fits),
  };
}

function commonOf({
  statuses,
  status,
  destination,
  attempted,
  sourceOrType,
}: Pick<Filter, 'status' | 'attempted'> & {
  statuses: readonly string[];
  destination: string | undefined;
  sourceOrType: string | undefined;
}): readonly string[] {
  if (statuses.length > 0 && status !== 'delivered') {
    return destination === undefined
      ? statuses
      : statuses.map((each) => `${destination} and ${each}`);
  }
  if (destination !== undefined) {
    return [attempted === true ? `${destination} and ${ATTEMPTED}` : destination];
  }
  if (sourceOrType !== undefined) return [sourceOrType];
  return statuses.length > 0 ? statuses : ['true'];
}

/** SQL. An index of a destination has these only. */
const ATTEMPTED = 'made > 0';

/** SQL. PostgreSQL uses the indexes of some statuses only for one that stands in the text. */
function statusCondition(status: DeliveryStatus): string {
  return `status = '${status}'`;
}

/**
 * SQL: the failures of a status, or of a class of statuses. Successes have no index. The numbers
 * stand in the text, because PostgreSQL refuses a parameter that a query does not use.
 */
function failureCondition({ from, to }: NonNullable<Filter['code']>): string | undefined {
  if (from < 300) return undefined;
  const one =
    from === to ? `last_status = ${from}` : `last_status / 100 = ${Math.floor(from / 100)}`;
  return `${one} and last_status >= 300`;
}

/** Returns the conditions of the time at which deliveries ended. */
export function endedIn({ endedSince, endedUntil }: Filter, param: Parameter): string[] {
  return compact([
    endedSince === undefined ? undefined : `settled_at >= ${param(endedSince)}::bigint`,
    endedUntil === undefined ? undefined : `settled_at < ${param(endedUntil)}::bigint`,
  ]);
}

/** By so much the clock of delivery may be behind that of ingest. */
const CLOCKS_DIFFER_MS = 60_000;

/** Returns the conditions of the time of acceptance, by which the history is partitioned. */
export function timesOf({ since, until, endedUntil }: Filter, param: Parameter): string[] {
  const times: [condition: string, at: number | undefined][] = [
    ['accepted_at >=', since],
    ['accepted_at <', until],
    // A delivery ends after it was accepted: an index by that time finds it.
    ['accepted_at <', endedUntil === undefined ? undefined : endedUntil + CLOCKS_DIFFER_MS],
  ];
  return times.flatMap(([condition, at]) =>
    at === undefined ? [] : [`${condition} ${param(at)}::bigint`],
  );
}
