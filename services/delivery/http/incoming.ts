import { type Socket } from 'node:net';
import {
  endOfHead,
  findStatusLine,
  isTrickle,
  MOST_HEAD_BYTES,
  MOST_HEAD_LINES,
  type Reading,
  readResponse,
} from './read-response';

/**
 * The bytes of one connection on their way from its socket to undici, whose parser fails a whole
 * exchange at the first oddity, also behind the status. This keeps the beginning of the present
 * response, so that a tolerant reader can tell its status then, and bounds what may come before the
 * status and what is read behind it. It hides interim responses from undici, which takes a
 * `100 Continue` for an error.
 *
 * An ordinary response costs some comparisons for each read of the socket: its first bytes are kept
 * by reference. The bounds below limit what any other costs.
 */

/** A head of fewer bytes is not looked at for its lines: most responses are that small. */
const SMALL_HEAD_BYTES = 512;
/**
 * Bytes behind the headers beside the body: chunk sizes and extensions, trailers. undici takes a
 * millisecond of CPU for 4 KB of short trailers.
 */
const MOST_FRAMING_BYTES = 2 * 1024;
/**
 * undici parses at most so much between two looks at the bounds. A read of the socket has up to
 * 64 KB, which may be thousands of headers or trailers.
 */
const SLICE_BYTES = 1024;

const NONE: Buffer = Buffer.alloc(0);
const LF = 0x0a;

/**
 * The first byte of `HTTP/1.1 200 OK`, and the place and the least value of the first digit of its
 * status.
 */
const FIRST = 0x48;
const DIGIT_AT = 9;
const LEAST_FINAL = 0x32;
const MOST_FINAL = 0x39;

/** What a byte that arrives is: one that nobody asked for, or a part of the response. */
type State = 'idle' | 'before status' | 'head' | 'body';

export class Incoming {
  /**
   * why the connection was ended, if this did it: too much was sent, or nothing that can be read
   */
  fault:
    { why: 'header_size' | 'framing_size' } | { why: 'unreadable'; message: string } | undefined;
  #state: State = 'idle';
  /**
   * of the response: all bytes before its status line, then all from there to the end of its
   * headers
   */
  #kept = NONE;
  #keptBytes = 0;
  /** reads of the socket, and their bytes, of the head or of the body */
  #reads = 0;
  #readBytes = 0;
  #hadContinue = false;
  /** what undici was given last */
  #last = NONE;
  /** what was read and not given to undici yet */
  #rest = NONE;
  #framingLeft = 0;

  /** True until the first byte of the response has arrived. */
  get isSilent(): boolean {
    return this.#keptBytes === 0;
  }

  /** True if a `100 Continue` came before the response, which nobody had asked for. */
  get hadContinue(): boolean {
    return this.#hadContinue;
  }

  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  /** A request was written: what arrives now is its response. */
  requestWritten(): void {
    this.#state = 'before status';
    this.#kept = NONE;
    this.#keptBytes = 0;
    this.#reads = this.#readBytes = 0;
    this.#hadContinue = false;
    this.fault = undefined;
  }

  /** undici has read the headers. */
  headRead(): void {
    this.#state = 'body';
    this.#reads = this.#readBytes = 0;
    this.#framingLeft = MOST_FRAMING_BYTES;
  }

  /** undici has read so many bytes of the body. */
  bodyRead(bytes: number): void {
    this.#framingLeft = Math.min(MOST_FRAMING_BYTES, this.#framingLeft + bytes);
  }

  /** The response has ended, and its connection stays open. */
  responseEnded(): void {
    this.#state = 'idle';
    this.#kept = this.#last = NONE;
    this.#keptBytes = 0;
    this.#hadContinue = false;
  }

  /** Reads the status from what was kept, after undici could not. */
  readKept(): Reading {
    return readResponse(this.#keptNow());
  }

  /**
   * Returns whether bytes follow the end of the response, as far as that shows: the last bytes that
   * were read are the body's end, or the end of a line (of the headers, or of the last chunk).
   * @param body the last part of the body
   * @param isDelimited the headers told the length of the body
   */
  hasMore(body: Buffer | undefined, isDelimited: boolean): boolean {
    if (this.#rest.length > 0) return true;
    const { buffer, byteOffset, length } = this.#last;
    if (length === 0) return false;
    if (body?.buffer === buffer && body.byteOffset + body.length === byteOffset + length) {
      return false;
    }
    const endsWithLine = this.#last[length - 1] === LF;
    return !endsWithLine || (isDelimited && body !== undefined);
  }

  /** False once undici was given all that was read. */
  get hasRest(): boolean {
    return this.#rest.length > 0;
  }

  /** Receives what was read. */
  receive(chunk: Buffer): void {
    this.#reads++;
    this.#readBytes += chunk.length;
    this.#rest = chunk;
  }

  /** The socket is gone: what was read from it belongs to no other. */
  forgetRest(): void {
    this.#rest = NONE;
  }

  /**
   * Takes the next part of what was read.
   * @returns what is for undici, which may be empty; undefined: the connection must be ended
   */
  nextPart(): Buffer | undefined {
    const chunk = this.#rest.subarray(0, SLICE_BYTES);
    this.#rest = chunk.length < this.#rest.length ? this.#rest.subarray(SLICE_BYTES) : NONE;
    switch (this.#state) {
      case 'before status':
        return this.#isPlain(chunk) ? this.#beginHead(chunk) : this.#takeEarly(chunk);
      case 'body':
        if (this.#framingLeft <= 0) {
          this.fault = { why: 'framing_size' };
          return undefined;
        }
        if (isTrickle(this.#reads, this.#readBytes)) return undefined;
        this.#framingLeft -= chunk.length;
        this.#last = chunk;
        return chunk;
      case 'head':
        this.#keep(chunk);
        return this.#passHead(chunk);
      case 'idle':
        return undefined;
    }
  }

  /** Returns whether a response begins here with the final status. */
  #isPlain(chunk: Buffer): boolean {
    const digit = chunk[DIGIT_AT] ?? 0;
    return (
      this.#keptBytes === 0 && chunk[0] === FIRST && digit >= LEAST_FINAL && digit <= MOST_FINAL
    );
  }

  #beginHead(chunk: Buffer): Buffer | undefined {
    this.#state = 'head';
    this.#kept = chunk;
    this.#keptBytes = chunk.length;
    return this.#passHead(chunk);
  }

  /** @param chunk the last part of what is kept */
  #passHead(chunk: Buffer): Buffer | undefined {
    this.#last = chunk;
    const hasTooManyLines =
      this.#keptBytes > SMALL_HEAD_BYTES &&
      endOfHead(this.#keptNow(), 0, MOST_HEAD_LINES).lines > MOST_HEAD_LINES;
    if (!this.#isTooMuch && !hasTooManyLines) return chunk;
    this.fault = { why: 'header_size' };
    return undefined;
  }

  /** Skips empty lines and interim responses. */
  #takeEarly(chunk: Buffer): Buffer | undefined {
    this.#keep(chunk);
    const bytes = this.#keptNow();
    const line = findStatusLine(bytes);
    if (line.kind === 'found') {
      this.#hadContinue = line.hadContinue;
      return this.#beginHead(bytes.subarray(line.at));
    }
    if (line.kind === 'unfinished' && !this.#isTooMuch) return NONE;
    const message =
      line.kind === 'unreadable'
        ? line.why
        : 'the endpoint sent too much, or in too many pieces, before its status';
    this.fault = { why: 'unreadable', message };
    return undefined;
  }

  get #isTooMuch(): boolean {
    return this.#keptBytes > MOST_HEAD_BYTES || isTrickle(this.#reads, this.#readBytes);
  }

  /** Appends to what is kept. The first bytes are kept by reference, others are copied. */
  #keep(chunk: Buffer): void {
    const bytes = this.#keptBytes + chunk.length;
    if (this.#keptBytes === 0) this.#kept = chunk;
    else if (bytes <= this.#kept.length) chunk.copy(this.#kept, this.#keptBytes);
    else {
      const larger = Buffer.allocUnsafe(2 * bytes);
      this.#keptNow().copy(larger);
      chunk.copy(larger, this.#keptBytes);
      this.#kept = larger;
    }
    this.#keptBytes = bytes;
  }

  #keptNow(): Buffer {
    return this.#kept.subarray(0, this.#keptBytes);
  }
}

/**
 * Lets a connection's bytes pass through `incoming` on their way to undici, which reads its socket
 * by `read`.
 * @param onUnasked receives bytes on an idle connection, which is ended
 */
export function passThrough(socket: Socket, incoming: Incoming, onUnasked: () => void): void {
  const read = socket.read.bind(socket);
  socket.read = (size) => {
    // undici reads on after its parser has failed.
    while (!socket.destroyed) {
      if (!incoming.hasRest) {
        const chunk = read(size) as Buffer | null;
        if (chunk === null) return null;
        incoming.receive(chunk);
      }
      const part = incoming.nextPart();
      if (part === undefined) {
        if (incoming.isIdle) onUnasked();
        socket.destroy();
      } else if (part.length > 0) return part;
    }
    // The next request may use this object with another socket.
    incoming.forgetRest();
    return null;
  };
}
