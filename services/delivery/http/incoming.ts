import { type Socket } from 'node:net';
import { findStatusLine, type Reading, readResponse } from './read-response';

/**
 * The bytes of one connection on their way from its socket to undici, whose parser fails a whole
 * exchange at the first oddity, also behind the status. This keeps the beginning of the present
 * response, so that a tolerant reader can tell its status then, and bounds what may come before the
 * status and what is read behind it. It hides interim responses from undici, which takes a
 * `100 Continue` for an error.
 *
 * An ordinary response costs some comparisons for each read of the socket: its first bytes are kept
 * by reference, and no byte is copied or looked at again.
 */

/** More than real headers have: 20 KB were seen. */
export const MOST_HEAD_BYTES = 32 * 1024;
/**
 * Reads of the socket for one head. A header in countless pieces would be joined again and again.
 */
const MOST_PIECES = 200;
/** Bytes behind the headers beside the body: chunk sizes and extensions, trailers. */
const MOST_FRAMING_BYTES = 32 * 1024;

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
  #pieces = 0;
  #hadContinue = false;
  /** what undici was given last */
  #last = NONE;
  #left = 0;

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
  begin(): void {
    this.#state = 'before status';
    this.#kept = NONE;
    this.#keptBytes = this.#pieces = 0;
    this.#hadContinue = false;
    this.fault = undefined;
  }

  /** undici has read the headers. @param bodyBytes most bytes of the body that are read */
  headRead(bodyBytes: number): void {
    this.#state = 'body';
    this.#left = bodyBytes + MOST_FRAMING_BYTES;
  }

  /** The response has ended, and its connection stays open. */
  end(): void {
    this.#state = 'idle';
    this.#kept = this.#last = NONE;
    this.#keptBytes = 0;
    this.#hadContinue = false;
  }

  /** Reads the status from what was kept, after undici could not. */
  read(): Reading {
    return readResponse(this.#keptNow());
  }

  /**
   * Returns whether bytes follow the end of the body, as far as that shows: the last bytes that
   * were read are the body's end, or the end of a line (of the headers, or of the last chunk).
   * @param body the last part of the body
   */
  hasMore(body: Buffer | undefined): boolean {
    const { buffer, byteOffset, length } = this.#last;
    if (length === 0 || this.#last[length - 1] === LF) return false;
    const isBody = body?.buffer === buffer && body.byteOffset + body.length === byteOffset + length;
    return !isBody;
  }

  /**
   * Receives what was read.
   * @returns the part for undici, which may be empty; undefined: the connection must be ended
   */
  take(chunk: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'before status':
        return this.#isPlain(chunk) ? this.#beginHead(chunk) : this.#takeEarly(chunk);
      case 'body':
        if (this.#left < 0) {
          this.fault = { why: 'framing_size' };
          return undefined;
        }
        // What goes beyond the bound is passed on once more: a long body ends the exchange by
        // itself.
        this.#left -= chunk.length;
        this.#last = chunk;
        return chunk;
      case 'head':
        this.#keep(chunk);
        this.#last = chunk;
        if (!this.#isTooMuch) return chunk;
        this.fault = { why: 'header_size' };
        return undefined;
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

  #beginHead(chunk: Buffer): Buffer {
    this.#state = 'head';
    this.#kept = this.#last = chunk;
    this.#keptBytes = chunk.length;
    return chunk;
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
      line.kind === 'unreadable' ? line.why : 'the endpoint sent too much before its status';
    this.fault = { why: 'unreadable', message };
    return undefined;
  }

  get #isTooMuch(): boolean {
    return this.#keptBytes > MOST_HEAD_BYTES || this.#pieces > MOST_PIECES;
  }

  /** Appends to what is kept. The first bytes are kept by reference, others are copied. */
  #keep(chunk: Buffer): void {
    this.#pieces++;
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
    for (;;) {
      const chunk = read(size) as Buffer | null;
      if (chunk === null) return null;
      const part = incoming.take(chunk);
      if (part === undefined) {
        if (incoming.isIdle) onUnasked();
        socket.destroy();
        return null;
      }
      if (part.length > 0) return part;
    }
  };
}
