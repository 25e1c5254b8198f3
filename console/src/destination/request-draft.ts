import { type Destination, type Operations } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { type BodyFormat, type Method } from '../../../shared/model/request-settings';
import { checkRenderedHeaders } from '../../../shared/model/webhook-request';
import { changedFields, isWhole, same } from './field-values';
import { text } from '../texts';

const words = text.endpoint.requestDraft;

/**
 * The method, the body and the headers of a destination's requests while somebody edits them. Pure.
 */

/** A body of one's own in CEL, beside the ready formats. */
export const TEMPLATE = 'template';

interface RenderedHeaderDraft {
  name: string;
  /** CEL that yields text */
  expression: string;
}

export interface RequestDraft {
  method: Method;
  format: BodyFormat | typeof TEMPLATE;
  /** CEL, if `format` is `template` */
  body: string;
  headers: RenderedHeaderDraft[];
  /** as entered; empty: never */
  gzipAbove: string;
}

export const DEFAULT_REQUEST: RequestDraft = {
  method: 'POST',
  format: 'default',
  body: '',
  headers: [],
  gzipAbove: '',
};

type Stored = Destination['request'];
type Patch = Operations['PATCH /destinations/{id}']['body'];
type RequestPatch = NonNullable<Patch>['request'];

export function requestDraft(request: Stored): RequestDraft {
  if (!request) return DEFAULT_REQUEST;
  const { method, format, body, headers, gzipAbove } = request;
  return {
    method: method ?? 'POST',
    format: body === null ? (format ?? 'default') : TEMPLATE,
    body: body ?? '',
    headers: Object.entries(headers ?? {}).map(([name, expression]) => ({ name, expression })),
    gzipAbove: gzipAbove === null ? '' : String(gzipAbove),
  };
}

/** Returns what the API shows for such a request: null for each default. */
function wholeRequest({ method, format, body, headers, gzipAbove }: RequestDraft) {
  return {
    method: method === 'POST' ? null : method,
    format: format === 'default' || format === TEMPLATE ? null : format,
    body: format === TEMPLATE ? body : null,
    headers:
      headers.length === 0
        ? null
        : Object.fromEntries(headers.map((each) => [each.name, each.expression])),
    gzipAbove: gzipAbove === '' ? null : Number(gzipAbove),
  };
}

/** Returns the `request` of a new destination; undefined for the default. */
export function requestOf(draft: RequestDraft) {
  const set = Object.entries(wholeRequest(draft)).filter(([, value]) => value !== null);
  return set.length === 0 ? undefined : (Object.fromEntries(set) as NonNullable<RequestPatch>);
}

/** Returns the merge patch of `request`; undefined if nothing was changed. */
export function requestPatch(before: Stored, draft: RequestDraft): RequestPatch {
  const old = requestDraft(before);
  if (same(old, draft)) return undefined;
  if (requestOf(draft) === undefined) return null;
  const { headers, ...rest } = changedFields(wholeRequest(old), wholeRequest(draft));
  if (headers === undefined) return rest;
  // Headers merge as well, so a removed one is null.
  const removed = Object.fromEntries(old.headers.map(({ name }) => [name, null]));
  return { ...rest, headers: headers && { ...removed, ...headers } };
}

const MAX_GZIP_ABOVE = 5_000_000;

/** Validates the request. Returns a sentence by API field. */
export function requestProblems({
  format,
  body,
  headers,
  gzipAbove,
}: RequestDraft): [string, string][] {
  return compact([
    format === TEMPLATE && body.trim() === ''
      ? (['request/body', words.enterExpression] as const)
      : undefined,
    ...headers.flatMap((header, i) => {
      const problem = headerProblem(header, headers, i);
      return problem === undefined ? [] : [[`request/headers/${i}`, problem] as const];
    }),
    gzipAbove === '' || isWhole(gzipAbove, 0, MAX_GZIP_ABOVE)
      ? undefined
      : (['request/gzipAbove', words.bytesProblem] as const),
  ]).map(([field, problem]) => [field, problem]);
}

function headerProblem(
  { name, expression }: RenderedHeaderDraft,
  all: RenderedHeaderDraft[],
  at: number,
) {
  if (name === '') return words.nameHeader;
  if (all.findIndex((each) => each.name.toLowerCase() === name.toLowerCase()) !== at) {
    return words.alreadyExists(name);
  }
  const problem = checkRenderedHeaders([name])[0]?.problem;
  if (problem !== undefined) return words.problem(problem);
  return expression.trim() === '' ? words.enterExpression : undefined;
}
