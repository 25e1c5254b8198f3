import { InvalidCallError, type Message } from './calls.js';

/** Serializes messages, and joins them into bodies. */

export const VERSION = '0.1.0';

/**
 * Every ingest of this format accepts this size. It would refuse a larger call later, unseen by the
 * caller.
 */
const MAX_CALL_BYTES = 32 * 1024;
const SENT_AT_BYTES = ',"sentAt":"2006-01-02T15:04:05.000Z"'.length;

export interface Queued {
  json: string;
  /** size of the message on the wire */
  bytes: number;
  /**
   * The client set the time of the call, so the server corrects it by its own clock. A timestamp
   * from the caller stays as it is.
   */
  live: boolean;
}

/** @throws InvalidCallError if it is too large or cannot be JSON */
export function toQueued(message: Message): Queued {
  let json: string;
  try {
    json = JSON.stringify(message);
  } catch (error) {
    throw new InvalidCallError(
      'invalid_call',
      `${message.type} cannot be written as JSON: ${String(error)}`,
    );
  }
  const live = message.timestamp === undefined;
  const bytes = byteLength(json) + (live ? SENT_AT_BYTES : 0);
  if (bytes > MAX_CALL_BYTES) {
    throw new InvalidCallError(
      'call_too_large',
      `${message.type} has ${bytes} bytes of at most ${MAX_CALL_BYTES}`,
    );
  }
  return { json, bytes, live };
}

/**
 * Returns the body of a request. Each try writes a new `sentAt` into each live message: the server
 * corrects the time of a call by its age when it was sent. A `sentAt` of the whole batch would also
 * shift a time that the caller set.
 */
export function toBody(batch: readonly Queued[], now: number, writeKeyInBody?: string): string {
  const sentAt = `,"sentAt":"${new Date(now).toISOString()}"}`;
  const calls = batch.map(({ json, live }) => (live ? json.slice(0, -1) + sentAt : json)).join(',');
  const key = writeKeyInBody === undefined ? '' : `,"writeKey":${JSON.stringify(writeKeyInBody)}`;
  return `{"batch":[${calls}],"context":{"library":{"name":"@waypost/node","version":"${VERSION}"}}${key}}`;
}

/** Counts the bytes of a text in UTF-8 without encoding it. */
function byteLength(text: string): number {
  // Node only, and ten times as fast.
  const buffer = (globalThis as { Buffer?: { byteLength(text: string): number } }).Buffer;
  return buffer ? buffer.byteLength(text) : utf8Length(text);
}

/** @internal */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Each half of a surrogate pair counts for two of the four bytes; JSON.stringify escapes a lone
    // half.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
