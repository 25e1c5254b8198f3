import { ApiProblem } from '../../../shared/api/client';

/** What went wrong, in words that a person can use. */

export function sayProblem(error: unknown): string {
  if (error instanceof ApiProblem) return error.problem.detail ?? error.message;
  return 'Waypost is unreachable. Is the control service running?';
}

/**
 * Whether control says that there is no session. It limits only requests without one, by their address, which may be that of a
 * proxy for many people. A 429 of another kind is the proxy's own.
 */
export function isSignedOut(error: unknown): boolean {
  if (!(error instanceof ApiProblem)) return false;
  return error.status === 401 || error.problem.type === 'urn:waypost:problem:rate_limited';
}

export function isStale(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 412;
}

export function isMissing(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 404;
}

/**
 * What the API said of each field.
 * @returns `webhooks/0/url` → the sentence; a query parameter by its name
 */
export function fieldProblems(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof ApiProblem)) return new Map();
  return new Map(
    (error.problem.errors ?? []).map(({ pointer, parameter, detail }) => [
      pointer === undefined ? (parameter ?? '') : fieldOf(pointer),
      detail,
    ]),
  );
}

/** `#/webhooks/0/url` → `webhooks/0/url`: RFC 6901 as a URI fragment. */
function fieldOf(pointer: string): string {
  const parts = pointer.replace(/^#?\//, '').split('/');
  return parts.map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')).join('/');
}
