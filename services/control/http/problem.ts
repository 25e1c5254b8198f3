import { type ErrorRequestHandler, type Response } from 'express';
import { defined } from '../../../shared/collections/defined';
import { AppError, isRetriable } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';

/**
 * Errors of the HTTP APIs: RFC 9457, `application/problem+json`.
 *
 * Texts are written here or by a caller that knows their content. The text of an unknown error is
 * never sent, since it may quote a body with a secret, and neither is a stack.
 */

/** The closed list: code → status and title. The code is the end of `type`, and is stable. */
const PROBLEMS = {
  invalid_body: [400, 'Invalid body'],
  invalid_request: [400, 'Invalid request'],
  unauthorized: [401, 'Authentication required'],
  forbidden: [403, 'Insufficient permissions'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'Method not allowed'],
  conflict: [409, 'Conflict with the current state'],
  stale: [412, 'Version conflict'],
  too_large: [413, 'The body is too large'],
  unsupported: [415, 'Unsupported encoding of the body'],
  invalid_fields: [422, 'Invalid fields'],
  too_much_work: [422, 'Too much work'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Internal error'],
  unavailable: [503, 'Temporarily unavailable'],
  no_answer: [504, 'No response in time'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One error: a JSON pointer (as URI fragment) into the body, or the name of a query parameter. */
export type FieldError =
  { pointer: string; detail: string } | { parameter: string; detail: string };

interface ProblemMore {
  errors?: FieldError[];
  /** response headers */
  headers?: Record<string, string>;
  /** further members of the body */
  more?: Record<string, unknown>;
}

/** Thrown by a handler to respond with a problem. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;

  /** @param detail one sentence for people, without secrets */
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
    readonly also: ProblemMore = {},
  ) {
    super(detail);
    this.name = 'Problem';
    [this.status, this.title] = PROBLEMS[code];
  }
}

/** Returns the error of a field of a body. @param path `['webhooks', 0, 'url']` */
export function errorAt(path: readonly PropertyKey[], detail: string): FieldError {
  return { pointer: pointer(path), detail };
}

/**
 * `['webhooks', 0, 'url']` → `#/webhooks/0/url` (RFC 6901, section 6: a fragment, percent-encoded).
 */
export function pointer(path: readonly PropertyKey[]): string {
  const escaped = path.map((part) =>
    encodeFragment(String(part).replaceAll('~', '~0').replaceAll('/', '~1')),
  );
  return ['#', ...escaped].join('/');
}

function encodeFragment(text: string): string {
  // encodeURIComponent throws for half a surrogate pair, which JSON may contain.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}

/** Quotes what a client sent, which may be long. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** Returns the problem for an id of nothing. @param kind `notice` */
export function unknownId(kind: string, id: string): Problem {
  return new Problem('not_found', `Unknown ${kind} ${quoted(id)}`);
}

/** Returns the problem for an unknown path. It omits the query, which may contain a secret. */
export function noSuchPath({ originalUrl }: { originalUrl: string }): Problem {
  return new Problem('not_found', `Nothing is at ${pathOf(originalUrl)}`);
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  const headers = { Allow: allowed.join(', ') };
  return new Problem('method_not_allowed', `${method} is not allowed here, only ${headers.Allow}`, {
    headers,
  });
}

/** The last handler of an app: turns every error into a problem, and logs unexpected ones. */
export function respondToErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const problem = problemOf(error);
    if (problem.status === 500) {
      log.error(
        { err: error, method: req.method, path: pathOf(req.originalUrl) },
        'request.failed',
      );
    }
    send(res, problem, pathOf(req.originalUrl));
  };
}

function send(res: Response, problem: Problem, instance: string): void {
  const { status, title, detail, code, also } = problem;
  res.status(status).set(also.headers ?? {});
  res.type('application/problem+json').send(
    JSON.stringify({
      type: `urn:waypost:problem:${code}`,
      title,
      status,
      detail,
      instance,
      ...defined({ errors: also.errors }),
      ...also.more,
    }),
  );
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isRetriable(error)) {
    return new Problem('unavailable', error.message, { headers: { 'Retry-After': '1' } });
  }
  // The same would be refused again, until an operator changes the limits of the topic.
  if (error instanceof AppError && error.code === 'kafka_refused') {
    return new Problem('conflict', error.message);
  }
  // Errors of Express and its body parser have a status; their texts may quote the body.
  switch (statusOf(error)) {
    case 400:
      return isBodyError(error)
        ? new Problem('invalid_body', 'The body must be a JSON object')
        : new Problem('invalid_request', 'The path, the body or its length is malformed');
    case 413:
      return new Problem('too_large', 'The body is larger than 1 MB');
    case 415:
      return new Problem(
        'unsupported',
        'The body must be UTF-8, uncompressed or compressed with gzip, deflate or br',
      );
    default:
      return new Problem('internal', 'An internal error occurred. See the log of control');
  }
}

/** Returns the status of a problem, or of an error of Express's parser. */
export function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'status' in error
    ? error.status
    : undefined;
}

function isBodyError(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'type' in error &&
    error.type === 'entity.parse.failed'
  );
}

/** Removes the query, which may contain a secret. */
function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '/';
}
