/** Tells what Waypost has stored of a response. Pure. */

/** The part of a response that Waypost stores: no cookies, and no secret of its request. */
export interface StoredResponse {
  headers: Record<string, string>;
  body: string;
  /** more was received, or the budget of the destination's responses was used up */
  truncated: boolean;
}

/** Stands for a response that is not stored, because its endpoint has used up the budget. */
export const NOT_STORED: StoredResponse = { headers: {}, body: '', truncated: true };

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
