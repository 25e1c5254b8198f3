import { z } from 'zod';
import { type Role } from '../../shared/domain/config';
import { type AnswerName } from './answers';

/** One operation of the control API, and the bodies that several have in common. */

export interface Operation {
  summary: string;
  /** status of success, and what it answers; none: no body */
  ok: [status: number, answer?: AnswerName];
  body?: z.ZodType;
  /** entries have versions: If-Match is heeded */
  conditional?: boolean;
  query?: z.ZodObject;
  /** the least role that may; else read_only for GET, admin for all others */
  role?: Role;
  /** asks for no token */
  open?: boolean;
  /** takes lines without end, one JSON each */
  lines?: boolean;
  /** answers without end: each event's `data` is of this shape */
  stream?: boolean;
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
