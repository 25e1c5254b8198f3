import { z } from 'zod';
import { type Role } from '../../../shared/model/config';
import { type Action, type ActKind } from '../audit/model';
import { type AnswerName } from './responses';
import { type Resource, type Right } from '../auth/rights';

/** The type of an operation of the control API, and bodies that several operations share. */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type PathOf<First extends string> = `/${First}` | `/${First}/${string}`;

/** Method and path below /api/v1. `{id}` is the only parameter, at most once in a path. */
export type OperationKey = `${Method} ${PathOf<Resource> | '/session' | '/openapi.json'}`;

export interface Operation {
  summary: string;
  /** the least role; `none`: needs no token */
  role: Role | 'none';
  /** a right that tokens need in addition, because the response contains other resources */
  alsoNeeds?: Right;
  /** fields that only administrators may set, because they control where Waypost sends and how it signs */
  adminFields?: readonly string[];
  /** status of success, and the schema of the response; none: no body */
  ok: readonly [status: number, answer?: AnswerName];
  /** shown in the documentation; the handler validates it, since a patch is validated after the merge */
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

export interface Act {
  kind: ActKind | 'destination';
  action: Action;
  /** the entry, if neither the path nor the Location of the response names it */
  entry?: string;
}

/** Returns the schema of a merge patch: every field is optional, and may be null if the full body may omit it. */
export function patchOf(schema: z.ZodObject): z.ZodType {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([field, type]) => [
    field,
    type.safeParse(undefined).success
      ? (type.safeParse(null).success ? type : type.nullable()).optional()
      : type.optional(),
  ]);
  return z.strictObject(Object.fromEntries(fields) as Record<string, z.ZodType>);
}
