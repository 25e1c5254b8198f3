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
 * The filters of deliveries, as conditions of SQL. Each has an index; see table-partitions.ts.
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
function shownStatus(paused: string): string {
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

export interface Conditions {
  /** those that one index finds together, fewest deliveries first */
  indexed: string[];
  others: string[];
}

/** Returns the conditions of a filter, except those for times. */
export function conditionsOf(filter: Filter, param: Parameter): Conditions {
  const {
    destination,
    source,
    type,
    message,
    event,
    error: last_error,
    ids,
    user,
    code,
    status,
    batch,
    replay,
    attempted,
    counted,
  } = filter;
  const equal = (columns: Record<string, string | undefined>) =>
    Object.entries(columns).flatMap(([column, value]) =>
      value === undefined ? [] : [`${column} = ${param(value)}`],
    );
  const oneOf = (column: string, values: readonly string[]) =>
    `${column} in (${values.map(param).join(', ')})`;
  const isFailure = code !== undefined && code.from >= 300;
  const between = ({ from, to }: NonNullable<Filter['code']>) =>
    `last_status between ${param(from)}::int and ${param(to)}::int`;
  // Each has an index, and few deliveries have the same. The first one finds the fewest.
  const rare = compact([
    ids
      ? `id in (select jsonb_array_elements_text(${param(databaseJson(ids))}::jsonb))`
      : undefined,
    ...equal({ message }),
    ...equal({ job: replay }),
    batch === undefined ? undefined : `batches @> array[${param(batch)}::text]`,
    ...equal({ user_id: user === undefined ? undefined : storedId(user) }),
    ...equal({ last_error }),
    // The index contains failures only.
    isFailure ? `${between(code)} and last_status >= 300` : undefined,
    ...equal({ event }),
  ]);
  // Each has an index, and a status with a destination has one for both.
  const common = [
    ...(status === undefined ? [] : [oneOf('status', storedStatuses(status))]),
    ...equal({ destination, source, type }),
  ];
  const withoutIndex = compact([
    code && !isFailure ? between(code) : undefined,
    attempted === undefined ? undefined : attempted ? 'made > 0' : 'made = 0',
    counted === undefined ? undefined : counted ? IS_COUNTED : `not (${IS_COUNTED})`,
    isUnderWay(status)
      ? `(${shownStatus(param(databaseJson(filter.paused ?? [])))}) = ${param(status ?? null)}`
      : undefined,
  ]);
  const byStatusAndDestination = status !== undefined && destination !== undefined;
  const indexed =
    rare.length > 0 ? rare.slice(0, 1) : common.slice(0, byStatusAndDestination ? 2 : 1);
  return {
    indexed,
    others: [...rare, ...common, ...withoutIndex].slice(indexed.length),
  };
}

/** By so much the clock of delivery may be behind that of ingest. */
const CLOCKS_DIFFER_MS = 60_000;

export function timesOf(
  { since, until, endedSince, endedUntil }: Filter,
  param: Parameter,
): string[] {
  const times: [condition: string, at: number | undefined][] = [
    ['accepted_at >=', since],
    ['accepted_at <', until],
    // A delivery ends after it was accepted: an index by that time finds it.
    ['accepted_at <', endedUntil === undefined ? undefined : endedUntil + CLOCKS_DIFFER_MS],
    ['settled_at >=', endedSince],
    ['settled_at <', endedUntil],
  ];
  return times.flatMap(([condition, at]) =>
    at === undefined ? [] : [`${condition} ${param(at)}::bigint`],
  );
}
