import { type z } from 'zod';
import { type OperationId } from './access';

/**
 * The type of an operation in the table, and the words of the audit trail. Clients import it, so it
 * loads no schema.
 */

/** Subjects of acts. They are not entries of `config`. */
export const ACT_KINDS = ['deletion', 'replay', 'delivery', 'notice', 'session'] as const;
/** Subjects of the rows of the audit trail: entries of `config`, and acts. */
export const AUDIT_KINDS = [
  'source',
  'destination',
  'token',
  'audience',
  'computed_trait',
  ...ACT_KINDS,
] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** Changes of entries, and some acts. */
export const CHANGES = ['created', 'changed', 'deleted'] as const;
export const ACTIONS = [
  ...CHANGES,
  'cancelled',
  'resumed',
  'replayed',
  'retried',
  'tested',
  'acknowledged',
] as const;
export type Action = (typeof ACTIONS)[number];

/** The most items of a list that are counted: more would cost more than a page of it. */
export const MOST_COUNTED = 10_000;

/**
 * An event names so many destinations, so that a list of events is readable. Few sources have more.
 */
export const MOST_REACHED = 50;

/**
 * The most destinations in one response of the overview. The console refreshes it every few
 * seconds.
 */
export const MOST_OVERVIEW_ROWS = 200;

/** An operation that changes no entry of `config`, for the audit trail. */
export interface Act {
  kind: (typeof ACT_KINDS)[number] | 'destination';
  action: Action;
  /** the entry, if neither the path nor the Location of the response names it */
  entry?: string;
}

export interface Operation {
  summary: string;
  /** status of success, and the name of the response's schema; none: no body */
  ok: readonly [status: number, response?: string];
  /**
   * path of the resource that the operation creates, for `Location`; its `{id}` is the `id` of the
   * response
   */
  location?: string;
  /**
   * shown in the documentation; the handler validates it, since a patch is validated after the
   * merge
   */
  body?: z.ZodType;
  /** validated before the handler runs; without it the query is ignored */
  query?: z.ZodObject;
  /** entries have versions, and If-Match is checked */
  conditional?: boolean;
  /** the body is NDJSON of any length, which the handler reads */
  lines?: boolean;
  /** the response is a stream; the `data` of each event has this shape */
  stream?: boolean;
  /** the row for the audit trail if no change of `config` writes one */
  act?: Act;
}

/**
 * The operations of all paths of a resource: a missing one does not compile, and neither does a
 * superfluous one.
 */
export type OperationsOf<First extends string> = Record<
  Extract<OperationId, `${string} /${First}` | `${string} /${First}/${string}`>,
  Operation
>;
