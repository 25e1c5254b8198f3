/**
 * What a receiver may ask for in the response header `webhook-delivery`: to send it this message
 * never again, or to send nothing more to its URL.
 */
export const ASKED_FOR = ['abort-message', 'disable'] as const;
export type AskedFor = (typeof ASKED_FOR)[number];
