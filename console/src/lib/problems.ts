import { ApiProblem } from '../../../shared/api/client';
import { MembersFileError } from '../../../shared/model/members-ndjson';
import { text } from '../texts';

const words = text.lib.problems;

/** Describes an error in a sentence for users. */

export function sayProblem(error: unknown): string {
  if (error instanceof ApiProblem) return error.problem.detail ?? error.message;
  if (error instanceof MembersFileError) return error.message;
  return words.unreachable;
}

/**
 * Splits a message of the API. Every second part is a name of a field, which the message has
 * between backticks.
 */
export function partsOf(message: string): string[] {
  return message.split(/`([^`]+)`/);
}

/**
 * Returns whether control reports a missing session. Control rate-limits only requests without a
 * session, by their address, which may be a proxy's for many people. Any other 429 comes from a
 * proxy.
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
 * Lists the API's errors by field.
 * @returns a sentence by field, such as `webhooks/0/url`; a query parameter by its name
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

/** Converts a JSON pointer: `#/webhooks/0/url` → `webhooks/0/url` (RFC 6901 as a URI fragment). */
function fieldOf(pointer: string): string {
  const parts = pointer.replace(/^#?\//, '').split('/');
  return parts
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('/');
}
