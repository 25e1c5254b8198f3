import { type IncomingMessage } from 'node:http';
import { parseJson } from '../../../shared/json/json';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { type z } from 'zod';
import { errorAt, type FieldError, pointer, Problem, statusOf } from './problem';
import { isJsonObject, type Json, type JsonObject } from '../../../shared/model/message';

/**
 * Validates bodies and queries by their schemas, and describes the errors of each field in words.
 */

/**
 * Validates a body; a missing body counts as an empty one.
 * @param others errors that the schema does not find, reported in the same response
 * @throws Problem `invalid_fields` that names every bad field
 */
export function parseBody<S extends z.ZodType>(
  schema: S,
  body: unknown,
  others: FieldError[] = [],
): z.output<S> {
  const parsed = schema.safeParse(body ?? {}, { error: bodyInWords });
  const errors = [...(parsed.success ? [] : fieldErrors(parsed.error)), ...others];
  if (parsed.success && errors.length === 0) return parsed.data;
  throw invalidFields(errors);
}

/** Returns the fields of a JSON object; none of any other value. */
export function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns whether a body has a field, also if it is null. */
export function has(body: unknown, field: string): boolean {
  return Object.hasOwn(fieldsOf(body), field);
}

/** Nothing was changed. */
export function invalidFields(errors: FieldError[]): Problem {
  const count = errors.length === 1 ? 'One field is' : `${errors.length} fields are`;
  return new Problem('invalid_fields', `${count} invalid. Nothing was changed`, { errors });
}

function fieldErrors(error: z.ZodError): FieldError[] {
  // Zod checks the length of anything that has one, even with a wrong type, so the field would be
  // listed twice.
  const ofWrongKind = new Set(
    error.issues.flatMap(({ code, path }) => (code === 'invalid_type' ? pointer(path) : [])),
  );
  const issues = error.issues.filter(
    ({ code, path }) => code === 'invalid_type' || !ofWrongKind.has(pointer(path)),
  );
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => errorAt([...issue.path, key], 'is not a known field'))
      : [errorAt(issue.path, issue.message)],
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
const UNITS: Record<string, string> = { string: 'character', array: 'item' };

/**
 * Returns a Zod issue as the end of a sentence that starts with the name of the field. It never
 * repeats the value.
 */
function bodyInWords(issue: z.core.$ZodRawIssue): string | undefined {
  const missing = issue.input === undefined;
  if (issue.code === 'invalid_type') {
    return missing ? 'is required' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') {
    return missing
      ? 'is required'
      : `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  }
  return sizeInWords(issue);
}

function sizeInWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_big') return bounded(issue.origin, 'at most', issue.maximum);
  if (issue.code !== 'too_small') return undefined;
  const isEmpty = issue.origin in UNITS && issue.minimum === 1;
  return isEmpty ? 'must not be empty' : bounded(issue.origin, 'at least', issue.minimum);
}

function bounded(origin: string, bound: string, size: number | bigint): string {
  const unit = UNITS[origin];
  return unit === undefined
    ? `must be ${bound} ${size}`
    : `must have ${bound} ${size} ${unit}${size === 1 ? '' : 's'}`;
}

/**
 * Validates query parameters.
 * @param query as parsed by Express
 * @throws Problem `invalid_fields` that names every bad parameter
 */
export function parseQuery<S extends z.ZodType>(schema: S, query: Request['query']): z.output<S> {
  const parsed = schema.safeParse(query, { error: queryInWords });
  const withNul = Object.entries(query).filter(([, value]) =>
    [value].flat().some((text) => hasNul(text)),
  );
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
      ? issue.keys.map((key) => ({
          parameter: key.slice(0, 100),
          detail: 'is not a known parameter',
        }))
      : [{ parameter: String(issue.path[0] ?? ''), detail: issue.message }],
  );
  throw new Problem('invalid_fields', 'Some query parameters are invalid', { errors });
}

/** PostgreSQL refuses NUL in any text. */
export function hasNul(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
}

function queryInWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined ? 'is required' : 'must be given once';
  }
  if (issue.code === 'invalid_value') {
    return `must be ${issue.values.map((value) => String(value)).join(' or ')}`;
  }
  return sizeInWords(issue);
}

/**
 * Reads bodies: JSON with any Content-Type (curl sends form by default), of limited depth, and at
 * most 1 MB, or 4 KB for an operation without a token.
 */

const MAX_BYTES = 1024 * 1024;
/** A login has about 100 bytes. */
const MAX_OPEN_KB = 4;
/** No valid body is deeper; thousands of levels overflow the stack of JSON.stringify. */
const MAX_DEPTH = 32;
/**
 * Arrays and objects: a list of 1,000 sources is one. 1 MB can contain half a million, which take
 * validators 100 ms and more.
 */
const MAX_CONTAINERS = 10_000;
/**
 * Of one list or object: ten times the longest valid list. A validator names each wrong member
 * before it counts them, which takes a second for 100,000.
 */
const MAX_MEMBERS = 10_000;

/**
 * The text of each body that Express's parser read: it checks the body, but loses digits of its
 * numbers.
 */
const texts = new WeakMap<IncomingMessage, string>();
const keepText = (req: IncomingMessage, _: unknown, body: Buffer, charset: string) => {
  // Express reads UTF-16 and UTF-32 too, for which its numbers must do.
  if (charset === 'utf-8') texts.set(req, new TextDecoder().decode(body));
};

const parseLarge: RequestHandler = express.json({
  limit: MAX_BYTES,
  type: () => true,
  verify: keepText,
});
/** 1 KB of gzip can contain 1 MB of JSON, so compressed bodies need a token. */
const parseOpen: RequestHandler = express.json({
  limit: MAX_OPEN_KB * 1024,
  type: () => true,
  inflate: false,
});

/**
 * @param isOpen true if the operation needs no token
 * @returns undefined if the request has no body
 * @throws Problem `invalid_body`, for an open operation also `too_large` and `unsupported`, and the
 * errors of Express's parser
 */
export async function readJson(
  req: Request,
  res: Response,
  isOpen: boolean,
): Promise<Json | undefined> {
  const parse = isOpen ? parseOpen : parseLarge;
  await new Promise<void>((resolve, reject) => {
    parse(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject((isOpen && problemOfOpen(error)) || toError(error));
    });
  });
  const text = texts.get(req);
  // Express reads an empty body as an object.
  const body = (text === undefined || text === '' ? req.body : parseJson(text)) as Json | undefined;
  const why = oddity(body);
  if (why !== undefined) throw new Problem('invalid_body', why);
  return body;
}

/**
 * Names the limits of an open operation: `respondToErrors` names the limits of bodies up to 1 MB.
 */
function problemOfOpen(error: unknown): Problem | undefined {
  const status = statusOf(error);
  if (status === 413) return new Problem('too_large', `The body is larger than ${MAX_OPEN_KB} KB`);
  return status === 415
    ? new Problem('unsupported', 'The body must be uncompressed UTF-8')
    : undefined;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The body cannot be read');
}

/**
 * Returns the error in the form of a parsed body, or undefined. Not recursive, since the depth is
 * unknown.
 */
export function oddity(body: unknown): string | undefined {
  let level = containersIn([body]);
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `The body is nested more than ${MAX_DEPTH} levels deep`;
    count += level.length;
    if (count > MAX_CONTAINERS) return `The body has more than ${MAX_CONTAINERS} lists and objects`;
    if (level.some((container) => membersOf(container) > MAX_MEMBERS)) {
      return `The body has a list or an object with more than ${MAX_MEMBERS} members`;
    }
    // Validators and merges ignore this key, each in its own way.
    if (level.some((container) => Object.hasOwn(container, '__proto__'))) {
      return 'The body has a key named __proto__';
    }
    level = level.flatMap((container) => containersIn(Object.values(container) as unknown[]));
  }
  return undefined;
}

function membersOf(container: object): number {
  return Array.isArray(container) ? container.length : Object.keys(container).length;
}

function containersIn(values: readonly unknown[]): object[] {
  return values.filter((value): value is object => typeof value === 'object' && value !== null);
}
