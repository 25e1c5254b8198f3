/** Reads what a response says about later requests, beside the delivery's own outcome. */

/**
 * What a receiver may ask for in the response header `webhook-delivery`: to send it this message
 * never again, or to send nothing more to its URL.
 */
export const ASKED_FOR = ['abort-message', 'disable'] as const;
export type AskedFor = (typeof ASKED_FOR)[number];

const GONE = 410;

/** What a response says about later requests. */
export interface ReceiverSays {
  /** as the response header `webhook-delivery` says */
  asked?: AskedFor | undefined;
  /**
   * nothing more may be sent to the URL, because it answered 410 or because its receiver asked for
   * this
   */
  disables?: 'gone' | 'asked' | undefined;
}

/**
 * Reads what the receiver says about later requests to its URL: the status 410 (Standard Webhooks),
 * or the response header `webhook-delivery` (proposed for Standard Webhooks).
 * @param header values of `webhook-delivery`, separated by commas; unknown ones are ignored
 * @param retried further statuses that are retried: 410 among them is a failure like others
 */
export function receiverSays(
  status: number,
  header: string | undefined,
  retried?: ReadonlySet<number>,
): ReceiverSays {
  const disables = status === GONE && !retried?.has(GONE) ? 'gone' : undefined;
  // Nearly every response.
  if (header === undefined) return disables ? SAYS_GONE : SAYS_NOTHING;
  const words = header
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  if (words.includes('disable')) return { asked: 'disable', disables: 'asked' };
  return { asked: words.includes('abort-message') ? 'abort-message' : undefined, disables };
}

const SAYS_NOTHING: ReceiverSays = {};
const SAYS_GONE: ReceiverSays = { disables: 'gone' };
