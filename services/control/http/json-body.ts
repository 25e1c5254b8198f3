import express, { type Request, type RequestHandler, type Response } from 'express';
import { type Json } from '../../../shared/model/message';
import { Problem } from './problem';

/**
 * Reads bodies: JSON with any Content-Type (curl sends form by default), of limited depth, and at most 1 MB, or 4 KB
 * for an operation without a token.
 */

const MAX_BYTES = 1024 * 1024;
/** A login has about 100 bytes. */
const MAX_OPEN_KB = 4;
/** No valid body is deeper; thousands of levels overflow the stack of JSON.stringify. */
const MAX_DEPTH = 32;
/**
 * Arrays and objects: a list of 1,000 sources is one. 1 MB can contain half a million, which take validators 100 ms and
 * more.
 */
const MAX_CONTAINERS = 10_000;

const parseLarge: RequestHandler = express.json({ limit: MAX_BYTES, type: () => true });
/** 1 KB of gzip can contain 1 MB of JSON, so compressed bodies need a token. */
const parseOpen: RequestHandler = express.json({ limit: MAX_OPEN_KB * 1024, type: () => true, inflate: false });

/**
 * @param isOpen true if the operation needs no token
 * @returns undefined if the request has no body
 * @throws Problem `invalid_body`, for an open operation also `too_large` and `unsupported`, and the errors of Express's
 * parser
 */
export async function readJson(req: Request, res: Response, isOpen: boolean): Promise<Json | undefined> {
  const parse = isOpen ? parseOpen : parseLarge;
  await new Promise<void>((resolve, reject) => {
    parse(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject((isOpen && problemOfOpen(error)) || toError(error));
    });
  });
  const body = req.body as Json | undefined;
  const why = oddity(body);
  if (why !== undefined) throw new Problem('invalid_body', why);
  return body;
}

/** Names the limits of an open operation: `answerProblems` names the limits of bodies up to 1 MB. */
function problemOfOpen(error: unknown): Problem | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (status === 413) return new Problem('too_large', `The body is larger than ${MAX_OPEN_KB} KB`);
  return status === 415 ? new Problem('unsupported', 'The body must be uncompressed UTF-8') : undefined;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The body cannot be read');
}

/** Returns the error in the form of a parsed body, or undefined. Not recursive, since the depth is unknown. */
export function oddity(body: unknown): string | undefined {
  let level = containersIn([body]);
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `The body is nested more than ${MAX_DEPTH} levels deep`;
    count += level.length;
    if (count > MAX_CONTAINERS) return `The body has more than ${MAX_CONTAINERS} lists and objects`;
    // Validators and merges ignore this key, each in its own way.
    if (level.some((container) => Object.hasOwn(container, '__proto__'))) return 'The body has a key named __proto__';
    level = level.flatMap((container) => containersIn(Object.values(container) as unknown[]));
  }
  return undefined;
}

function containersIn(values: readonly unknown[]): object[] {
  return values.filter((value): value is object => typeof value === 'object' && value !== null);
}
