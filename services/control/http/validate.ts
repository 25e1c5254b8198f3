import { type Request } from 'express';
import { type z } from 'zod';
import { type FieldError, pointer, Problem } from './problem';

/** Validates bodies and queries by their schemas, and describes the errors of each field in words. */

/**
 * Validates a body; a missing body counts as an empty one.
 * @param others errors that the schema does not find, reported in the same response
 * @throws Problem `invalid_fields` that names every bad field
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, others: FieldError[] = []): z.output<S> {
  const parsed = schema.safeParse(body ?? {}, { error: bodyInWords });
  const errors = [...(parsed.success ? [] : fieldErrors(parsed.error)), ...others];
  if (parsed.success && errors.length === 0) return parsed.data;
  throw invalidFields(errors);
}

/** Returns the problem for these errors. Nothing was changed. */
export function invalidFields(errors: FieldError[]): Problem {
  const count = errors.length === 1 ? 'One field is' : `${errors.length} fields are`;
  return new Problem('invalid_fields', `${count} invalid. Nothing was changed`, { errors });
}

function fieldErrors(error: z.ZodError): FieldError[] {
  // Zod checks the length of anything that has one, even with a wrong type, so the field would be listed twice.
  const ofWrongKind = new Set(error.issues.flatMap(({ code, path }) => (code === 'invalid_type' ? pointer(path) : [])));
  const issues = error.issues.filter(({ code, path }) => code === 'invalid_type' || !ofWrongKind.has(pointer(path)));
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ pointer: pointer([...issue.path, key]), detail: 'is not a known field' }))
      : [{ pointer: pointer(issue.path), detail: issue.message }],
  );
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
const UNITS: Record<string, string> = { string: 'characters', array: 'items' };

/** Returns a Zod issue as the end of a sentence that starts with the name of the field. It never repeats the value. */
function bodyInWords(issue: z.core.$ZodRawIssue): string | undefined {
  const missing = issue.input === undefined;
  if (issue.code === 'invalid_type')
    return missing ? 'is required' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') {
    return missing ? 'is required' : `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  if (issue.code === 'too_small') return `must ${amount(issue.origin, `at least ${issue.minimum}`)}`;
  if (issue.code === 'too_big') return `must ${amount(issue.origin, `at most ${issue.maximum}`)}`;
  return undefined;
}

function amount(origin: string, bound: string): string {
  const unit = UNITS[origin];
  return unit === undefined ? `be ${bound}` : `have ${bound} ${unit}`;
}

/**
 * Validates query parameters.
 * @param query as parsed by Express
 * @throws Problem `invalid_fields` that names every bad parameter
 */
export function parseQuery<S extends z.ZodType>(schema: S, query: Request['query']): z.output<S> {
  const parsed = schema.safeParse(query, { error: queryInWords });
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
export function hasNul(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
}

function queryInWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return issue.input === undefined ? 'is required' : 'must be given once';
  if (issue.code === 'invalid_value') return `must be ${issue.values.map((value) => String(value)).join(' or ')}`;
  return undefined;
}
