import { z } from 'zod';
import { formatDuration, parseDuration } from '../model/time';
import { MOST_COUNTED } from './operation';

/** Fields and parameters that several resources share. */

const MAX_NAME_CHARACTERS = 200;
const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;

export const name = z
  .string()
  .max(MAX_NAME_CHARACTERS)
  .refine((text) => text.trim() !== '', 'must not be empty')
  .meta({ description: 'Display name', minLength: 1 });

const EXAMPLES = [
  [0, '0s'],
  [10_000, '10s'],
  [30 * 60_000, '30m'],
  [DAY_MS, '24h'],
  [7 * DAY_MS, '7d'],
] as const;

/** @returns ms */
export function durationField<S extends z.ZodType<string>>(
  text: S,
  { leastMs = 0, mostMs = MONTH_MS }: { leastMs?: number; mostMs?: number } = {},
) {
  const examples = EXAMPLES.filter(([ms]) => leastMs <= ms && ms <= mostMs).map(
    ([, example]) => example,
  );
  const bounds =
    `${leastMs > 0 ? `at least ${formatDuration(leastMs)}, ` : ''}at most ` + durationText(mostMs);
  return text.transform((given, ctx) => {
    const ms = parseDuration(given);
    if (ms !== undefined && leastMs <= ms && ms <= mostMs) return ms;
    ctx.addIssue({
      code: 'custom',
      message: `must be a duration such as ${examples.join(', ')}, ${bounds}`,
    });
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

const NO_TIME = 'must be a time such as 2026-01-31T12:00:00Z, of the years 1970 to 9999';
const LAST_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z');
const isoTime = z.union([
  z.iso.datetime({ offset: true }),
  // without seconds
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** Returns ms since 1970; NaN: it is not ISO 8601 with an offset, or out of range. */
function timeMsOf(text: string): number {
  const ms = isoTime.safeParse(text).success ? Date.parse(text) : NaN;
  return ms >= 0 && ms <= LAST_TIME_MS ? ms : NaN;
}

/** A time in a request, with any offset. */
export const timeInput = z
  .string()
  .refine((text) => !Number.isNaN(timeMsOf(text)), NO_TIME)
  .meta({ format: 'date-time' });

/** A time in a response. */
export const time = z.iso.datetime();
export const count = z.int().min(0);
/** Fields of every entry of the configuration. */
export const changed = { version: z.int(), createdAt: time, updatedAt: time };

/** The number of all items of a list. */
const total = z.strictObject({
  count,
  exact: z
    .boolean()
    .meta({ description: `false: there are more, for example more than ${MOST_COUNTED}` }),
});
export type Total = z.output<typeof total>;

/** A page of a list in a response. */
export const list = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    data: z.array(item),
    next: z.string().nullable(),
    total: total.optional().meta({
      description: 'With `total=true`: all that match. Absent if the list is not counted',
    }),
  });

/**
 * The times of acceptance that a page of a search covers.
 * @param complete what the field of that name says
 */
export const searchedTimes = (complete: string) =>
  z.strictObject({
    from: time,
    to: time,
    complete: z.boolean().meta({ description: complete }),
  });

/** The times of a page of a list of the history. */
export const searchedPage = searchedTimes(
  'false: the page ended before it was full, and `next` goes on with what is older',
);
/** A page of a list that looks at a limited number of rows. */
export const longList = <T extends z.ZodType>(item: T) =>
  list(item).extend({
    searched: searchedPage
      .optional()
      .meta({ description: 'The times that the page covers, if it ended before it was full' }),
  });

type PatchOf<T> = { [K in keyof T]?: undefined extends T[K] ? T[K] | null : T[K] };

/**
 * Returns the schema of a merge patch: every field is optional, and may be null if the full body
 * may omit it.
 */
export function patchOf<S extends z.ZodObject>(
  schema: S,
): z.ZodType<PatchOf<z.input<S>>, PatchOf<z.input<S>>> {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([field, type]) => [
    field,
    type.safeParse(undefined).success
      ? (type.safeParse(null).success ? type : type.nullable()).optional()
      : type.optional(),
  ]);
  const patch: unknown = z.strictObject(Object.fromEntries(fields) as Record<string, z.ZodType>);
  return patch as z.ZodType<PatchOf<z.input<S>>, PatchOf<z.input<S>>>;
}

/**
 * A query parameter: ISO 8601 with an offset, or ms since 1970 with 13 digits → ms since 1970. A
 * time without an offset would be the local time of the server.
 */
export const timeParameter = z
  .string()
  .transform((text, ctx) => {
    const ms = /^\d{13}$/.test(text) ? Number(text) : timeMsOf(text);
    if (!Number.isNaN(ms)) return ms;
    ctx.addIssue({ code: 'custom', message: NO_TIME });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

/** A query parameter that is true or false. */
export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

const limitText = z
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
  // Clients pass a number. On the wire it is text, as every query parameter.
  limit: limitText as unknown as z.ZodDefault<z.ZodNumber>,
  after: z.string().optional().meta({ description: 'The `next` of the previous page' }),
  total: flag
    .optional()
    .meta({ description: 'true: count all that match, if the list can be counted' }),
});

const MAX_PART_CHARACTERS = 200;

/** A query parameter that finds entries by their name or id. */
export const namePart = z.string().min(1).max(MAX_PART_CHARACTERS).optional().meta({
  description: 'Part of the name or of the id, in upper or lower case',
});

/** A query parameter that finds entries by their ids. */
export const idList = z
  .string()
  .transform((text): ReadonlySet<string> => new Set(text.split(',')))
  .refine((ids) => ids.size <= MAX_LIMIT, `must have at most ${MAX_LIMIT} ids`)
  .optional()
  .meta({ description: `Only these: at most ${MAX_LIMIT} ids, separated by commas` });

/** A query parameter that sorts a list by one of these, descending with "-" before it. */
export const sortBy = <const Names extends readonly string[]>(names: Names) =>
  z
    .enum(names.flatMap((each) => [each, `-${each}`]) as (Names[number] | `-${Names[number]}`)[])
    .optional();
