import { InvalidCallError, type Message } from './calls.js';

/** A message as text, ready to be sent; and the bodies that texts make. */

export const VERSION = '0.1.0';

/** What every ingest of this format takes; what is larger would be refused there, where nobody sees it. */
const MAX_CALL_BYTES = 32 * 1024;
const SENT_AT_BYTES = ',"sentAt":"2006-01-02T15:04:05.000Z"'.length;

export interface Queued {
  json: string;
  /** as sent */
  bytes: number;
  /** It happened when it was made, so that its time is corrected by the server's clock; a timestamp that was given stands. */
  live: boolean;
}

/** @throws InvalidCallError where it is too large, or is nothing that JSON can hold */
export function toQueued(message: Message): Queued {
  let json: string;
  try {
    json = JSON.stringify(message);
  } catch (error) {
    throw new InvalidCallError('invalid_call', `${message.type} cannot be written as JSON: ${String(error)}`);
  }
  const live = message.timestamp === undefined;
  const bytes = byteLength(json) + (live ? SENT_AT_BYTES : 0);
  if (bytes > MAX_CALL_BYTES) {
    throw new InvalidCallError('call_too_large', `${message.type} has ${bytes} bytes of at most ${MAX_CALL_BYTES}`);
  }
  return { json, bytes, live };
}

/**
 * The body of a request. `sentAt` is written into each live message anew with every try: the server corrects the time of
 * a call by how long before sending it was made.
 */
export function toBody(batch: readonly Queued[], now: number, writeKeyInBody?: string): string {
  const sentAt = `,"sentAt":"${new Date(now).toISOString()}"}`;
  const calls = batch.map(({ json, live }) => (live ? json.slice(0, -1) + sentAt : json)).join(',');
  const key = writeKeyInBody === undefined ? '' : `,"writeKey":${JSON.stringify(writeKeyInBody)}`;
  return `{"batch":[${calls}],"context":{"library":{"name":"@waypost/node","version":"${VERSION}"}}${key}}`;
}

/** How many bytes a text has as UTF-8, without writing it. */
function byteLength(text: string): number {
  // Only Node has it, and it is ten times as fast.
  const buffer = (globalThis as { Buffer?: { byteLength(text: string): number } }).Buffer;
  return buffer ? buffer.byteLength(text) : utf8Length(text);
}

/** @internal */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Each half of a surrogate pair counts for two of the four bytes; JSON.stringify leaves no half alone.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
