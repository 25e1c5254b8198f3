/** Reads and writes the primitive types of Kafka's protocol (https://kafka.apache.org/protocol). */

/** Up to this length a loop over characters is faster than a call into the runtime. */
const SHORT = 24;
const NOT_ASCII = 0x80;

/** Appends to a growing buffer. */
export class ByteWriter {
  #buffer = Buffer.allocUnsafeSlow(64 * 1024);
  length = 0;

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Returns a copy of the written bytes, and starts again with an empty buffer. */
  take(): Buffer {
    const bytes = Buffer.from(this.#buffer.subarray(0, this.length));
    this.length = 0;
    if (this.#buffer.length > MOST_KEPT) this.#buffer = Buffer.allocUnsafeSlow(64 * 1024);
    return bytes;
  }

  /** Makes room for this number of further bytes. */
  reserve(bytes: number): void {
    if (this.length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + bytes));
    this.#buffer.copy(larger, 0, 0, this.length);
    this.#buffer = larger;
  }

  int8(value: number): void {
    this.reserve(1);
    this.length = this.#buffer.writeInt8(value, this.length);
  }
  int16(value: number): void {
    this.reserve(2);
    this.length = this.#buffer.writeInt16BE(value, this.length);
  }
  int32(value: number): void {
    this.reserve(4);
    this.length = this.#buffer.writeInt32BE(value, this.length);
  }
  uint32At(value: number, at: number): void {
    this.#buffer.writeUInt32BE(value, at);
  }
  int32At(value: number, at: number): void {
    this.#buffer.writeInt32BE(value, at);
  }
  /** @param value a safe integer */
  int64(value: number): void {
    this.reserve(8);
    this.#buffer.writeInt32BE(Math.floor(value / 2 ** 32), this.length);
    this.length = this.#buffer.writeUInt32BE(value >>> 0, this.length + 4);
  }
  string(value: string | null): void {
    if (value === null) return this.int16(-1);
    const size = Buffer.byteLength(value);
    this.int16(size);
    this.raw(value, size);
  }
  /** @param value a 32-bit integer */
  varint(value: number): void {
    this.reserve(5);
    const buffer = this.#buffer;
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    while (rest > 0x7f) {
      buffer[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.length++] = rest;
  }
  /** Writes a length as varint, then the bytes; null has the length -1. @param size in bytes, from `sizeOf` */
  varintBytes(value: Buffer | string | null, size: number): void {
    if (value === null) return this.varint(-1);
    this.varint(size);
    this.raw(value, size);
  }

  raw(value: Buffer | string, size: number): void {
    this.reserve(size);
    const at = this.length;
    this.length += size;
    if (typeof value !== 'string') value.copy(this.#buffer, at);
    else if (size <= SHORT && size === value.length) {
      for (let i = 0; i < size; i++) this.#buffer[at + i] = value.charCodeAt(i);
    } else this.#buffer.write(value, at, size, 'utf8');
  }
}

/** A larger buffer was needed only once, and is released. */
const MOST_KEPT = 4 * 1024 * 1024;

/** Returns the size of a text in UTF-8, or of a buffer. */
export function sizeOf(value: Buffer | string): number {
  if (typeof value !== 'string') return value.length;
  if (value.length > SHORT) return Buffer.byteLength(value);
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) >= NOT_ASCII) return Buffer.byteLength(value);
  return value.length;
}

/** Returns the number of bytes that `varint` writes. */
export function sizeOfVarint(value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  let bytes = 1;
  while (rest > 0x7f) {
    rest >>>= 7;
    bytes++;
  }
  return bytes;
}

/** Reads values from a buffer, one after the other. */
export class ByteReader {
  constructor(
    readonly buffer: Buffer,
    public at = 0,
  ) {}

  int8(): number {
    return this.buffer.readInt8(this.at++);
  }
  int16(): number {
    return this.buffer.readInt16BE((this.at += 2) - 2);
  }
  int32(): number {
    return this.buffer.readInt32BE((this.at += 4) - 4);
  }
  /** @returns a number: offsets and times are safe integers */
  int64(): number {
    const high = this.int32();
    return high * 2 ** 32 + this.buffer.readUInt32BE((this.at += 4) - 4);
  }
  string(): string {
    const size = this.int16();
    return this.buffer.toString('utf8', this.at, (this.at += Math.max(0, size)));
  }
  /** Reads a varint, or a varlong that is a safe integer. */
  varint(): number {
    const { buffer } = this;
    let byte = buffer[this.at++]!;
    let raw = byte & 0x7f;
    let factor = 128;
    while (byte & 0x80) {
      byte = buffer[this.at++]!;
      raw += (byte & 0x7f) * factor;
      factor *= 128;
    }
    return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
  }
}
