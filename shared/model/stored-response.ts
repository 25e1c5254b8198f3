import { type StoredResponse } from './attempt-events';

/** Tells what Waypost has stored of a response. Pure. */

/** Returns whether nothing of a response is stored: it was empty, or it was not stored. */
export function isEmptyResponse({
  headers,
  body,
}: Pick<StoredResponse, 'headers' | 'body'>): boolean {
  return body === '' && Object.keys(headers).length === 0;
}

/** Returns whether a response was not stored, because it was beyond the budget of its destination. */
export function wasNotStored(response: StoredResponse): boolean {
  return response.truncated && isEmptyResponse(response);
}
