import { type IncomingMessage } from 'node:http';
import { constants, gunzipSync } from 'node:zlib';
import { CompactingMap } from '../../shared/collections/compacting-map';
import { type RefusalCode } from './responses';
import { type BodyOwner } from './admission';

/**
 * Reads a request's body, plain or gzipped. Its memory is bounded: per request by a limit on
 * inflated bytes, at which inflating stops, and over all requests by the budget of the body's
 * owner.
 */

/** 500 KB as in Segment's documentation, counted after decompression, and again as UTF-8. */
export const MAX_BODY_BYTES = 512_000;
/** Incompressible data grows a little in gzip: 5 bytes in each 16 KB, and the header. */
const MAX_GZIP_BYTES = MAX_BODY_BYTES + 4_096;
/** What is kept of a body that is refused, for the debugger, which shows half of it. */
const BEGINNING_BYTES = 8 * 1024;
/** Size of a buffer object beside its bytes: bodies may come byte by byte. */
const CHUNK_BYTES = 256;
/**
 * The most that deflate inflates one byte to (zlib.net/zlib_tech.html, "Maximum Compression
 * Factor").
 */
const MOST_RATIO = 1_032;
/** At the end of a gzip: a checksum, and the length of the text. */
const CHECKSUM_BYTES = 8;
/**
 * Least and most bytes to inflate in one piece. zlib needs one byte beyond the text to detect its
 * end.
 */
const MIN_INFLATED_CHUNK = 4 * 1024;
const MAX_INFLATED_CHUNK = MAX_BODY_BYTES + 1;

/**
 * A slow body holds its place for long: after 10 s its average must be at least 4 KB a second. 500
 * KB over a slow mobile network take a minute at twice this rate.
 */
const PATIENCE: Patience = { graceMs: 10_000, bytesPerSecond: 4_096, checkMs: 2_000 };

/**
 * After a refusal the rest of the body is read and discarded, up to these limits: closing a
 * connection on which the client still sends resets it, and the client sees the reset instead of
 * the response.
 */
const DISCARD_BYTES = 32 * 1024 * 1024;
const DISCARD_MS = 5_000;

interface Patience {
  graceMs: number;
  bytesPerSecond: number;
  checkMs: number;
}

/**
 * Why there is no body. `gone`: the client has left, and needs no response. After the other two,
 * the client sends the body again.
 */
type BodyFault = Extract<RefusalCode, 'overloaded' | 'request_timeout'> | 'gone';

/** A body that cannot be used, so that its calls are lost. */
export interface RefusedBody {
  code: Extract<RefusalCode, 'body_too_large' | 'invalid_encoding' | 'unsupported_encoding'>;
  /** its first bytes, inflated if that is possible */
  beginning: Buffer;
  /** more was sent */
  isCut: boolean;
}

/** Resolves to the body, or to the reason why there is none. */
export type ReadBody = (
  req: IncomingMessage,
  owner: BodyOwner,
) => Promise<Buffer | RefusedBody | BodyFault>;

/** A body being read. */
interface Reading {
  startedAt: number;
  bytes: number;
  refuse(code: BodyFault): void;
}

/** Creates one reader for all requests; a single timer checks all bodies for slow clients. */
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
    const raw = await collect(req, {
      maxBytes,
      refusal:
        encoding === undefined
          ? 'unsupported_encoding'
          : tooLong(req, maxBytes)
            ? 'body_too_large'
            : undefined,
      owner,
      reading,
    });
    if (typeof raw === 'string') return raw;
    if (!Buffer.isBuffer(raw)) {
      if (isGzip(raw.beginning)) raw.beginning = inflatedBeginning(raw.beginning);
      return raw;
    }
    // A proxy may have removed the header.
    return encoding === 'gzip' || isGzip(raw) ? inflate(raw) : raw;
  };
}

/** No text begins with these bytes. */
function isGzip(raw: Buffer): boolean {
  return raw[0] === 0x1f && raw[1] === 0x8b;
}

export function isTrickle(
  bytes: number,
  ms: number,
  { graceMs, bytesPerSecond }: Patience,
): boolean {
  return ms > graceMs && bytes < (ms / 1_000) * bytesPerSecond;
}

function encodingOf(req: IncomingMessage): 'identity' | 'gzip' | undefined {
  const header = req.headers['content-encoding'];
  if (header === undefined) return 'identity';
  const [encoding = 'identity', ...others] = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !NO_ENCODINGS.has(name));
  if (others.length > 0) return undefined;
  if (encoding === 'identity') return encoding;
  return encoding === 'gzip' || encoding === 'x-gzip' ? 'gzip' : undefined;
}

/** Some clients name the charset here. */
const NO_ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'utf-8', 'utf8']);

function tooLong(req: IncomingMessage, maxBytes: number): boolean {
  return Number(req.headers['content-length'] ?? 0) > maxBytes;
}

interface Collecting {
  maxBytes: number;
  /** why the body cannot be used, whatever it is: only its beginning is read */
  refusal: RefusedBody['code'] | undefined;
  owner: BodyOwner;
  reading: CompactingMap<IncomingMessage, Reading>;
}

function collect(
  req: IncomingMessage,
  { maxBytes, refusal, owner, reading }: Collecting,
): Promise<Buffer | RefusedBody | BodyFault> {
  const { shares, share } = owner;
  // `close` was emitted before this listens.
  if (req.destroyed) return Promise.resolve('gone');
  // Taken before the first chunk comes, because an empty share may be removed.
  if (!shares.take(share, CHUNK_BYTES)) return Promise.resolve('overloaded');
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let held = CHUNK_BYTES;
    const finish = (result: Buffer | RefusedBody | BodyFault) => {
      reading.delete(req);
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      shares.give(share, held);
      resolve(result);
    };
    const body: Reading = { startedAt: performance.now(), bytes: 0, refuse: finish };
    const onData = (chunk: Buffer) => {
      body.bytes += chunk.length;
      const cost = chunk.length + CHUNK_BYTES;
      if (refusal || body.bytes > maxBytes) {
        const beginning = beginningOf([...chunks, chunk], body.bytes);
        finish({ code: refusal ?? 'body_too_large', beginning, isCut: true });
      } else if (!shares.take(share, cost)) finish('overloaded');
      else {
        held += cost;
        chunks.push(chunk);
      }
    };
    const onEnd = () => {
      if (refusal) finish({ code: refusal, beginning: NOTHING, isCut: false });
      else finish(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, body.bytes));
    };
    const onClose = () => finish('gone');
    reading.set(req, body);
    req.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

const NOTHING = Buffer.alloc(0);

function beginningOf(chunks: readonly Buffer[], bytes: number): Buffer {
  return Buffer.concat(chunks, Math.min(bytes, BEGINNING_BYTES));
}

/**
 * Inflates in this thread: the output is at most 500 KB, which takes as long as parsing it, and
 * zlib's threads are the four that DNS and files need too. A body that is cut off is inflated as
 * far as it goes.
 */
function inflate(raw: Buffer): Buffer | RefusedBody {
  try {
    return gunzipSync(raw, {
      maxOutputLength: MAX_BODY_BYTES,
      chunkSize: inflatedChunk(raw),
      finishFlush: constants.Z_SYNC_FLUSH,
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const beginning = inflatedBeginning(raw);
    return {
      code: code === 'ERR_BUFFER_TOO_LARGE' ? 'body_too_large' : 'invalid_encoding',
      beginning,
      isCut: beginning !== raw,
    };
  }
}

/** Inflates so few bytes that the result is no larger than a body, and not the checksum. */
function inflatedBeginning(raw: Buffer): Buffer {
  const bytes = Math.min(raw.length - CHECKSUM_BYTES, Math.floor(MAX_BODY_BYTES / MOST_RATIO));
  try {
    return gunzipSync(raw.subarray(0, Math.max(0, bytes)), {
      finishFlush: constants.Z_SYNC_FLUSH,
    });
  } catch {
    return raw;
  }
}

/**
 * Returns how many bytes to inflate at once. gzip ends with the length of its text (RFC 1952,
 * ISIZE): with room for all of it nothing is copied, and a small text takes little memory. The
 * client may claim any length. A short claim makes more chunks, and a long claim reserves no more
 * than a body of this size can inflate to.
 */
export function inflatedChunk(raw: Buffer): number {
  const claimed = raw.length < 4 ? 0 : raw.readUInt32LE(raw.length - 4);
  const length = Math.min(claimed, raw.length * MOST_RATIO) + 1;
  return Math.min(Math.max(length, MIN_INFLATED_CHUNK), MAX_INFLATED_CHUNK);
}

/**
 * Discards the unread rest of the body. Call it with each refusal, however much of the body was
 * read.
 */
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
