import express, { type Request, type RequestHandler, type Response } from 'express';
import { type Json } from '../../shared/domain/message';
import { Problem } from '../../shared/http/problem';

/** Bodies are JSON whatever the Content-Type says (curl's default says form), at most 1 MB, and shallow. */

const MAX_BYTES = 1024 * 1024;
/** No body has a use for more; thousands of levels overflow the stack of JSON.stringify. */
const MAX_DEPTH = 32;

const parse: RequestHandler = express.json({ limit: MAX_BYTES, type: () => true });

/**
 * @returns undefined where there is none
 * @throws Problem `invalid_body`, and the errors of Express's parser
 */
export async function readJson(req: Request, res: Response): Promise<Json | undefined> {
  await new Promise<void>((resolve, reject) => {
    parse(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('The body cannot be read'));
    });
  });
  const body = req.body as Json | undefined;
  const why = oddity(body);
  if (why !== undefined) throw new Problem('invalid_body', why);
  return body;
}
/** What is wrong with the form of a parsed body, if anything. Without recursion, since depth is what is asked. */
export function oddity(body: unknown): string | undefined {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `The body is nested more than ${MAX_DEPTH} deep`;
    const objects = level.filter((value) => typeof value === 'object' && value !== null);
    // Validators and merges pass it over in silence, each in its own way.
    if (objects.some((value) => Object.hasOwn(value, '__proto__'))) return 'The body has a key named __proto__';
    level = objects.flatMap((value) => Object.values(value) as unknown[]);
  }
  return undefined;
}
