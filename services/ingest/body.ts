import { type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { type RefusalCode } from './answer';

/**
 * Reads a request's body, as it is or gzipped. What it holds is bounded: per request by the limit, which counts inflated
 * bytes and stops the inflating, and over all requests by a budget.
 */

/** 500 KB as Segment's documentation has it, counted after decompression. */
const MAX_BODY_BYTES = 512_000;
/** What does not compress grows a little: 5 bytes in each 16 KB, and the head. */
const MAX_GZIP_BYTES = MAX_BODY_BYTES + 4_096;
/** All bodies being read: many slow senders at once must not fill the memory. */
const MAX_READING_BYTES = 256 * 1024 * 1024;

/**
 * After a refusal the rest is read and thrown away for so long and so far: a connection that is closed on a client that
 * still sends is reset, and the client sees that instead of the answer.
 */
const DISCARD_BYTES = 32 * 1024 * 1024;
const DISCARD_MS = 5_000;

/** `gone`: the client has left, and needs no answer. */
type BodyFault = RefusalCode | 'gone';

export type ReadBody = (req: IncomingMessage) => Promise<Buffer | BodyFault>;

/** One reader for all requests, since they share the budget. */
export function createBodyReader(maxReadingBytes = MAX_READING_BYTES): ReadBody {
  let reading = 0;

  return async (req) => {
    const encoding = encodingOf(req);
    const maxBytes = encoding === 'gzip' ? MAX_GZIP_BYTES : MAX_BODY_BYTES;
    const early =
      encoding === undefined ? 'unsupported_encoding' : tooLong(req, maxBytes) ? 'body_too_large' : undefined;
    if (early) {
      discardRest(req);
      return early;
    }
    const raw = await collect(req, maxBytes, (bytes) => {
      reading += bytes;
      return reading <= maxReadingBytes;
    });
    return encoding === 'gzip' && typeof raw !== 'string' ? inflate(raw) : raw;
  };
}

function encodingOf(req: IncomingMessage): 'identity' | 'gzip' | undefined {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return 'identity';
  return encoding === 'gzip' || encoding === 'x-gzip' ? 'gzip' : undefined;
}

function tooLong(req: IncomingMessage, maxBytes: number): boolean {
  return Number(req.headers['content-length'] ?? 0) > maxBytes;
}

/** @param hold counts bytes held (negative: given back); false where there is no room for them */
function collect(
  req: IncomingMessage,
  maxBytes: number,
  hold: (bytes: number) => boolean,
): Promise<Buffer | BodyFault> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (result: Buffer | BodyFault) => {
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      hold(-bytes);
      resolve(result);
    };
    const refuse = (code: RefusalCode) => {
      finish(code);
      discardRest(req);
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      const room = hold(chunk.length);
      if (bytes > maxBytes) refuse('body_too_large');
      else if (!room) refuse('overloaded');
      else chunks.push(chunk);
    };
    const onEnd = () => finish(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes));
    const onClose = () => finish('gone');
    req.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/**
 * In this thread: at most 500 KB come out, which takes as long as parsing them, and zlib's threads are the four that
 * DNS and files need too.
 */
function inflate(raw: Buffer): Buffer | BodyFault {
  try {
    return gunzipSync(raw, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'invalid_encoding';
  }
}

function discardRest(req: IncomingMessage): void {
  let left = DISCARD_BYTES;
  const timer = setTimeout(() => req.socket.destroy(), DISCARD_MS).unref();
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.socket.destroy();
  });
  req.once('close', () => clearTimeout(timer));
}
