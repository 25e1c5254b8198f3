/** Tells what Waypost has stored of a response. Pure. */

/** The part of a response that Waypost stores: no cookies, and no secret of its request. */
export interface StoredResponse {
  headers: Record<string, string>;
  body: string;
  /** more was received, or the budget of the destination's responses was used up */
  truncated: boolean;
  /**
   * `webhook-id`, `webhook-timestamp` and the signatures of the request that it answers, by name in
   * lower case; `***` is a signature without a time. Absent for a 2xx.
   */
  signature?: Record<string, string> | undefined;
}

/**
 * Stands for a response that is not stored: its endpoint has used up the budget, or its URL has too
 * many secrets to mask.
 */
export const NOT_STORED: StoredResponse = { headers: {}, body: '', truncated: true };

/** Returns whether nothing of a response is stored: it was empty, or it was not stored. */
export function isEmptyResponse({
  headers,
  body,
  signature,
}: Omit<StoredResponse, 'truncated'>): boolean {
  return body === '' && signature === undefined && Object.keys(headers).length === 0;
}

/** Returns whether this stands for a response that is not stored. */
export function wasNotStored(response: StoredResponse): boolean {
  return response.truncated && isEmptyResponse(response);
}
