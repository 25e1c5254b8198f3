import { z } from 'zod';
import { formatDuration, parseDuration } from '../../../shared/model/duration';
import { type FieldError, pointer, Problem } from './problem';

/** Validates bodies, describes the errors of each field in words, and defines fields that several bodies share. */

const MAX_NAME_CHARACTERS = 200;
const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;

export const name = z
  .string()
  .max(MAX_NAME_CHARACTERS)
  .refine((text) => text.trim() !== '', 'must not be empty')
  .meta({ description: 'Display name', minLength: 1 });

/** @returns ms */
export function durationField<S extends z.ZodType<string>>(
  text: S,
  { leastMs = 0, mostMs = MONTH_MS }: { leastMs?: number; mostMs?: number } = {},
) {
  const bounds = `${leastMs > 0 ? `at least ${formatDuration(leastMs)}, ` : ''}at most ${durationText(mostMs)}`;
  return text.transform((given, ctx) => {
    const ms = parseDuration(given);
    if (ms !== undefined && leastMs <= ms && ms <= mostMs) return ms;
    ctx.addIssue({ code: 'custom', message: `must be a duration such as 0s, 30m, 24h or 7d, ${bounds}` });
    return z.NEVER;
  });
}

/** Returns the shortest text of a duration: 604,800,000 → `7d`. */
export function durationText(ms: number): string {
  return ms > 0 && ms % DAY_MS === 0 ? `${String(ms / DAY_MS)}d` : formatDuration(ms);
}

/** The time for which the old key or secret still works, ms. */
export const overlap = durationField(z.string().default('24h')).meta({
  description: 'How long the old one stays valid, such as 0s, 30m, 24h or 7d',
});

/** The time for which a destination fails before it is switched off, ms. */
export const switchOffAfter = durationField(z.string(), { mostMs: 90 * DAY_MS });

/**
 * Validates a body; a missing body counts as an empty one.
 * @param others errors that the schema does not find, reported in the same response
 * @throws Problem `invalid_fields` that names every bad field
 */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown, others: FieldError[] = []): z.output<S> {
  const parsed = schema.safeParse(body ?? {}, { error: inWords });
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
function inWords(issue: z.core.$ZodRawIssue): string | undefined {
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
