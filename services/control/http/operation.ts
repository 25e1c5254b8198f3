import { z } from 'zod';
import { type Role } from '../../../shared/model/config';
import { type Action, type ActKind } from '../audit/model';
import { type AnswerName } from './responses';
import { type Resource, type Right } from '../auth/rights';

/** One operation of the control API, and the bodies that several have in common. */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type PathOf<First extends string> = `/${First}` | `/${First}/${string}`;

/** Method and path below /api/v1. `{id}` is the only parameter that a path may have, once. */
export type OperationKey = `${Method} ${PathOf<Resource> | '/session' | '/openapi.json'}`;

export interface Operation {
  summary: string;
  /** the least role that may do this; `none`: without a token */
  role: Role | 'none';
  /** what a token with a list of rights needs beside the right that method and path name: the answer tells of other resources */
  alsoNeeds?: Right;
  /** fields of the body that only administrators may set: Waypost signs and sends by them */
  adminFields?: readonly string[];
  /** status of success, and the schema of the answer; none: no body */
  ok: readonly [status: number, answer?: AnswerName];
  /** documented here, and checked by the handler: a patch is checked after the merge */
  body?: z.ZodType;
  /** checked before the handler runs; without it the query is not looked at */
  query?: z.ZodObject;
  /** entries have versions: If-Match is heeded */
  conditional?: boolean;
  /** takes lines without end, one JSON each: the handler reads the body */
  lines?: boolean;
  /** answers without end: each event's `data` is of this shape */
  stream?: boolean;
  /** the row of the audit trail, where no change of `config` leaves one */
  act?: Act;
}

export interface Act {
  kind: ActKind | 'destination';
  action: Action;
  /** where neither the path nor the Location of the answer names it */
  entry?: string;
}

/** A merge patch: every field may be absent, and null where the body that makes an entry may do without. */
export function patchOf(schema: z.ZodObject): z.ZodType {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([field, type]) => [
    field,
    type.safeParse(undefined).success
      ? (type.safeParse(null).success ? type : type.nullable()).optional()
      : type.optional(),
  ]);
  return z.strictObject(Object.fromEntries(fields) as Record<string, z.ZodType>);
}
