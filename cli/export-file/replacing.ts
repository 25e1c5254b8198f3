import { type Destination, type Operations } from '../../shared/api/operations';

type Request = Operations['POST /destinations']['body']['request'];

/**
 * Returns the patch that replaces a whole `request`: a merge would keep headers that the new one
 * lacks.
 */
export function replacing(
  before: Destination['request'],
  request: NonNullable<Request> | null,
): Request {
  if (request === null || !before?.headers || !request.headers) return request;
  const removed = Object.fromEntries(Object.keys(before.headers).map((name) => [name, null]));
  return { ...request, headers: { ...removed, ...request.headers } };
}
