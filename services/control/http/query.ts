import { type Request } from 'express';
import { z } from 'zod';
import { type FieldError, Problem } from './problem';

/** Parses query parameters by schemas, which the OpenAPI document also uses. */

/** ISO 8601 or ms since 1970 → ms since 1970. */
export const timeParameter = z
  .string()
  .transform((text, ctx) => {
    const ms = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text);
    if (!Number.isNaN(ms)) return ms;
    ctx.addIssue({ code: 'custom', message: 'must be a time such as 2026-01-31T12:00:00Z' });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

const limit = z
  .string()
  .default(String(DEFAULT_LIMIT))
  .transform((text, ctx) => {
    const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
    if (number >= 1 && number <= MAX_LIMIT) return number;
    ctx.addIssue({ code: 'custom', message: `must be a whole number from 1 to ${MAX_LIMIT}` });
    return z.NEVER;
  })
  .meta({ type: 'integer', minimum: 1, maximum: MAX_LIMIT });

/** Parameters of every paginated list. */
export const pageParameters = z.strictObject({
  limit,
  after: z.string().optional().meta({ description: 'The `next` of the previous page' }),
});

/**
 * @param query as parsed by Express
 * @throws Problem `invalid_fields` that names every bad parameter
 */
export function parseQuery<S extends z.ZodType>(schema: S, query: Request['query']): z.output<S> {
  const parsed = schema.safeParse(query, { error: inWords });
  const withNul = Object.entries(query).filter(([, value]) => [value].flat().some((text) => hasNul(text)));
  if (withNul.length > 0) {
    const errors = withNul.map(([name]) => ({
      parameter: name.slice(0, 100),
      detail: 'must not contain a NUL character',
    }));
    throw new Problem('invalid_fields', 'Some query parameters are invalid', { errors });
  }
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.flatMap((issue): FieldError[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ parameter: key.slice(0, 100), detail: 'is not a known parameter' }))
      : [{ parameter: String(issue.path[0] ?? ''), detail: issue.message }],
  );
  throw new Problem('invalid_fields', 'Some query parameters are invalid', { errors });
}

/** PostgreSQL refuses NUL in any text. */
function hasNul(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
}

function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return issue.input === undefined ? 'is required' : 'must be given once';
  if (issue.code === 'invalid_value') return `must be ${issue.values.map((value) => String(value)).join(' or ')}`;
  return undefined;
}

interface Cursor {
  /** time in ms since 1970, or another whole number that orders the list */
  at: number;
  id: string;
}

/** Returns `next` of a list ordered by time and id, which clients pass as `after`. */
export function encodeCursor(at: number, id: string): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/**
 * Reads a cursor of a list in the database.
 * @throws Problem `invalid_fields`
 */
export function decodeCursor(after: string | undefined): Cursor | undefined {
  const cursor = decodeAnyCursor(after);
  if (hasNul(cursor?.id)) throw badCursor();
  return cursor;
}

/**
 * Reads a cursor of a list outside the database, whose ids may contain any character.
 * @throws Problem `invalid_fields`
 */
export function decodeAnyCursor(after: string | undefined): Cursor | undefined {
  if (after === undefined) return undefined;
  const [, at, id] = /^(\d{1,15}) (.+)$/s.exec(Buffer.from(after, 'base64url').toString()) ?? [];
  if (at === undefined || id === undefined) throw badCursor();
  return { at: Number(at), id };
}

function badCursor(): Problem {
  const errors = [{ parameter: 'after', detail: 'must be the `next` of a previous page' }];
  return new Problem('invalid_fields', 'The requested page is invalid', { errors });
}
