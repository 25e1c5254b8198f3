import { type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { CompactingMap } from '../../shared/service/compacting-map';
import { type RefusalCode } from './responses';
import { type Share, type FairShares } from './fair-share';

/**
 * Reads a request's body, as it is or gzipped. What it holds is bounded: per request by the limit, which counts inflated
 * bytes and stops the inflating, and over all requests by the budget of its owner.
 */

/** 500 KB as Segment's documentation has it, counted after decompression. */
const MAX_BODY_BYTES = 512_000;
/** What does not compress grows a little: 5 bytes in each 16 KB, and the head. */
const MAX_GZIP_BYTES = MAX_BODY_BYTES + 4_096;
/** A buffer as an object, beside its bytes: bodies may come byte by byte. */
const CHUNK_BYTES = 256;
/** Least and most bytes that are inflated at once. zlib needs one byte of room beyond the text to see its end. */
const MIN_INFLATED_CHUNK = 4 * 1024;
const MAX_INFLATED_CHUNK = MAX_BODY_BYTES + 1;

/**
 * A body that trickles holds its place for long: after 10 s it must have come at 4 KB a second. 500 KB over a slow mobile
 * network take a minute at twice this rate.
 */
const PATIENCE: Patience = { graceMs: 10_000, bytesPerSecond: 4_096, checkMs: 2_000 };

/**
 * After a refusal the rest is read and thrown away for so long and so far: a connection that is closed on a client that
 * still sends is reset, and the client sees that instead of the answer.
 */
const DISCARD_BYTES = 32 * 1024 * 1024;
const DISCARD_MS = 5_000;

interface Patience {
  graceMs: number;
  bytesPerSecond: number;
  checkMs: number;
}

/** `gone`: the client has left, and needs no answer. */
type BodyFault = RefusalCode | 'gone';

/** Where the bytes count, until they are given back. */
export interface BodyOwner {
  shares: FairShares;
  share: Share;
}

/** A body, or why there is none. */
export type ReadBody = (req: IncomingMessage, owner: BodyOwner) => Promise<Buffer | BodyFault>;

/** A body that is being read. */
interface Reading {
  startedAt: number;
  bytes: number;
  refuse(code: RefusalCode): void;
}

/** One reader for all requests: one timer looks after all of them. */
export function createBodyReader(patience: Patience = PATIENCE): ReadBody {
  const reading = new CompactingMap<IncomingMessage, Reading>();
  setInterval(() => {
    const now = performance.now();
    reading.forEach((body) => {
      if (isTrickle(body.bytes, now - body.startedAt, patience)) body.refuse('request_timeout');
    });
  }, patience.checkMs).unref();

  return async (req, owner) => {
    const encoding = encodingOf(req);
    const maxBytes = encoding === 'gzip' ? MAX_GZIP_BYTES : MAX_BODY_BYTES;
    if (encoding === undefined) return 'unsupported_encoding';
    if (tooLong(req, maxBytes)) return 'body_too_large';
    const raw = await collect(req, { maxBytes, owner, reading });
    return encoding === 'gzip' && typeof raw !== 'string' ? inflate(raw) : raw;
  };
}

export function isTrickle(bytes: number, ms: number, { graceMs, bytesPerSecond }: Patience): boolean {
  return ms > graceMs && bytes < (ms / 1_000) * bytesPerSecond;
}

function encodingOf(req: IncomingMessage): 'identity' | 'gzip' | undefined {
  const encoding = req.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return 'identity';
  return encoding === 'gzip' || encoding === 'x-gzip' ? 'gzip' : undefined;
}

function tooLong(req: IncomingMessage, maxBytes: number): boolean {
  return Number(req.headers['content-length'] ?? 0) > maxBytes;
}

interface Collecting {
  maxBytes: number;
  owner: BodyOwner;
  reading: CompactingMap<IncomingMessage, Reading>;
}

function collect(req: IncomingMessage, { maxBytes, owner, reading }: Collecting): Promise<Buffer | BodyFault> {
  const { shares, share } = owner;
  // Its `close` came before anything listened.
  if (req.destroyed) return Promise.resolve('gone');
  // The owner holds something from now on: a share of nothing may be forgotten before the first piece comes.
  if (!shares.take(share, CHUNK_BYTES)) return Promise.resolve('overloaded');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let held = CHUNK_BYTES;
    const finish = (result: Buffer | BodyFault) => {
      reading.delete(req);
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      shares.give(share, held);
      resolve(result);
    };
    const body: Reading = { startedAt: performance.now(), bytes: 0, refuse: finish };
    const onData = (chunk: Buffer) => {
      body.bytes += chunk.length;
      const cost = chunk.length + CHUNK_BYTES;
      if (body.bytes > maxBytes) finish('body_too_large');
      else if (!shares.take(share, cost)) finish('overloaded');
      else {
        held += cost;
        chunks.push(chunk);
      }
    };
    const onEnd = () => finish(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, body.bytes));
    const onClose = () => finish('gone');
    reading.set(req, body);
    req.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/**
 * In this thread: at most 500 KB come out, which takes as long as parsing them, and zlib's threads are the four that
 * DNS and files need too.
 */
function inflate(raw: Buffer): Buffer | BodyFault {
  try {
    return gunzipSync(raw, { maxOutputLength: MAX_BODY_BYTES, chunkSize: inflatedChunk(raw) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'invalid_encoding';
  }
}

/**
 * Bytes to inflate at once. gzip ends with the length of its text (RFC 1952, ISIZE): with room for all of it nothing is
 * copied, and a small text takes little. A wrong length changes the number of pieces only.
 */
function inflatedChunk(raw: Buffer): number {
  const claimed = raw.length < 4 ? 0 : raw.readUInt32LE(raw.length - 4) + 1;
  return Math.min(Math.max(claimed, MIN_INFLATED_CHUNK), MAX_INFLATED_CHUNK);
}

/** To be called with a refusal, whether all of the body was read, some of it or none. */
export function discardRest(req: IncomingMessage): void {
  if (req.readableEnded || req.destroyed) return;
  let left = DISCARD_BYTES;
  const timer = setTimeout(() => req.socket.destroy(), DISCARD_MS).unref();
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.socket.destroy();
  });
  req.once('close', () => clearTimeout(timer));
}
