import { compact } from '../../../shared/collections/defined';
import { type DeliveryStatus, statusesOf } from '../../../shared/model/reasons';
import { databaseJson, type Param } from './database';
import { storedId } from './stored-id';

/**
 * The filters of deliveries, as conditions of SQL. Each has an index; see table-partitions.ts.
 * Pure.
 */

export interface Filter {
  destination?: string | undefined;
  source?: string | undefined;
  status?: DeliveryStatus | undefined;
  message?: string | undefined;
  user?: string | undefined;
  type?: string | undefined;
  event?: string | undefined;
  /** id of a batch that they were sent in */
  batch?: string | undefined;
  /** status of the last response, from the first to the last of these */
  code?: { from: number; to: number } | undefined;
  /** code of the last attempt's error */
  error?: string | undefined;
  /** of deliveries */
  ids?: readonly string[] | undefined;
  /** accepted at this time or later, ms since 1970 */
  since?: number | undefined;
  /** accepted before this time, ms since 1970 */
  until?: number | undefined;
  /**
   * ended at this time or later, ms since 1970; with this time or the next one, only dead
   * deliveries are found
   */
  endedSince?: number | undefined;
  /** ended before this time, ms since 1970 */
  endedUntil?: number | undefined;
}

type Parameter = (value: Param) => string;

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

/**
 * Returns the conditions of a filter, except those for times. The first one finds the fewest
 * deliveries.
 */
export function conditionsOf(filter: Filter, param: Parameter): string[] {
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
  } = filter;
  const equal = (columns: Record<string, string | undefined>) =>
    Object.entries(columns).flatMap(([column, value]) =>
      value === undefined ? [] : [`${column} = ${param(value)}`],
    );
  const oneOf = (column: string, values: readonly string[]) =>
    `${column} in (${values.map(param).join(', ')})`;
  return compact([
    ids
      ? `id in (select jsonb_array_elements_text(${param(databaseJson(ids))}::jsonb))`
      : undefined,
    ...equal({ message }),
    batch === undefined ? undefined : `batches @> array[${param(batch)}::text]`,
    ...equal({ user_id: user === undefined ? undefined : storedId(user) }),
    ...equal({ last_error }),
    code ? codeCondition(code, param) : undefined,
    ...equal({ event }),
    status === undefined ? undefined : oneOf('status', statusesOf(status)),
    ...equal({ destination, source, type }),
  ]);
}

/**
 * Returns how many of the first conditions one index finds together: a status with a destination
 * has its own.
 */
export function byOneIndex({
  destination,
  status,
  ids,
  message,
  batch,
  user,
  error,
  code,
  event,
}: Filter): number {
  const isStatusFirst = [ids, message, batch, user, error, code, event].every(
    (value) => value === undefined,
  );
  return isStatusFirst && status !== undefined && destination !== undefined ? 2 : 1;
}

function codeCondition({ from, to }: { from: number; to: number }, param: Parameter): string {
  const between = `last_status between ${param(from)}::int and ${param(to)}::int`;
  // The index contains failures only.
  return from >= 300 ? `${between} and last_status >= 300` : between;
}

export function timesOf(
  { since, until, endedSince, endedUntil }: Filter,
  param: Parameter,
): string[] {
  const times: [condition: string, at: number | undefined][] = [
    ['accepted_at >=', since],
    ['accepted_at <', until],
    // A delivery ends after it was accepted.
    ['accepted_at <', endedUntil],
    ['settled_at >=', endedSince],
    ['settled_at <', endedUntil],
  ];
  const conditions = times.flatMap(([condition, at]) =>
    at === undefined ? [] : [`${condition} ${param(at)}::bigint`],
  );
  // The index by the time of the end contains dead deliveries only.
  return endedSince === undefined && endedUntil === undefined
    ? conditions
    : [...conditions, `status = 'dead'`];
}
