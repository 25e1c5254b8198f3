/**
 * Works on bytes as Kafka's protocol does (https://kafka.apache.org/protocol): reads and writes its
 * primitive types, and computes the checksum of a batch and the hash of a key.
 */

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
  bytes(value: Buffer): void {
    this.int32(value.length);
    this.raw(value, value.length);
  }
  array<T>(all: readonly T[], write: (each: T) => void): void {
    this.int32(all.length);
    for (const each of all) write(each);
  }
  /** @param value a 32-bit integer */
  varint(value: number): void {
    this.uvarint(((value << 1) ^ (value >> 31)) >>> 0);
  }
  /** @param value an unsigned 32-bit integer */
  uvarint(value: number): void {
    this.reserve(5);
    const buffer = this.#buffer;
    let rest = value;
    while (rest > 0x7f) {
      buffer[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.length++] = rest;
  }
  /** Writes a text or bytes as in flexible versions of a request. */
  compact(value: Buffer | string): void {
    const size = sizeOf(value);
    this.uvarint(size + 1);
    this.raw(value, size);
  }
  compactArray<T>(all: readonly T[], write: (each: T) => void): void {
    this.uvarint(all.length + 1);
    for (const each of all) write(each);
  }
  /** Ends a structure of a flexible version. */
  noTags(): void {
    this.int8(0);
  }
  /**
   * Writes a length as varint, then the bytes; null has the length -1. @param size in bytes, from
   * `sizeOf`
   */
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
  for (let i = 0; i < value.length; i++) {
    if (value.charCodeAt(i) >= NOT_ASCII) return Buffer.byteLength(value);
  }
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
  /** @returns a slice; empty for null */
  bytes(): Buffer {
    return this.#slice(this.int32());
  }
  array<T>(read: () => T): T[] {
    const all: T[] = [];
    for (let left = this.int32(); left > 0; left--) all.push(read());
    return all;
  }
  /** Reads an unsigned varint. */
  uvarint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.buffer.readUInt8(this.at++);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }
  /** Reads a text of a flexible version; null is an empty text. */
  compactString(): string {
    const size = Math.max(0, this.uvarint() - 1);
    return this.buffer.toString('utf8', this.at, (this.at += size));
  }
  /** Reads bytes of a flexible version. @returns a slice; empty for null */
  compactBytes(): Buffer {
    return this.#slice(this.uvarint() - 1);
  }
  compactArray<T>(read: () => T): T[] {
    const all: T[] = [];
    for (let left = this.uvarint() - 1; left > 0; left--) all.push(read());
    return all;
  }
  /** Skips the tagged fields at the end of a structure. */
  skipTags(): void {
    for (let tags = this.uvarint(); tags > 0; tags--) {
      this.uvarint();
      const size = this.uvarint();
      this.at += size;
    }
  }
  #slice(size: number): Buffer {
    return this.buffer.subarray(this.at, (this.at += Math.max(0, size)));
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

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

const [T0, T1, T2, T3, T4, T5, T6, T7] = tables() as [
  Table,
  Table,
  Table,
  Table,
  Table,
  Table,
  Table,
  Table,
];
type Table = Int32Array;

function tables(): Table[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    first[byte] = crc;
  }
  const all = [first];
  for (let slice = 1; slice < SLICES; slice++) {
    all.push(all[slice - 1]!.map((crc) => (crc >>> 8) ^ first[crc & 0xff]!));
  }
  return all;
}

/**
 * Computes CRC-32C (Castagnoli, RFC 3720 appendix B.4), eight bytes at a time ("slicing by 8",
 * Kounavis and Berry 2005).
 * @returns the checksum of `bytes` from `start` on, unsigned
 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const b = bytes;
  let crc = -1;
  let at = start;
  for (; at + SLICES <= end; at += SLICES) {
    const low = crc ^ (b[at]! | (b[at + 1]! << 8) | (b[at + 2]! << 16) | (b[at + 3]! << 24));
    crc =
      T7[low & 0xff]! ^
      T6[(low >>> 8) & 0xff]! ^
      T5[(low >>> 16) & 0xff]! ^
      T4[low >>> 24]! ^
      T3[b[at + 4]!]! ^
      T2[b[at + 5]!]! ^
      T1[b[at + 6]!]! ^
      T0[b[at + 7]!]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ T0[(crc ^ b[at]!) & 0xff]!;
  return (crc ^ -1) >>> 0;
}

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * Computes murmur2, a 32-bit integer. The function of kafkajs uses BigInt, at twenty times the
 * cost.
 */
export function murmur2(key: Buffer): number {
  const { length } = key;
  let hash = SEED ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let k = key[at]! | (key[at + 1]! << 8) | (key[at + 2]! << 16) | (key[at + 3]! << 24);
    k = Math.imul(k, M);
    k = Math.imul(k ^ (k >>> 24), M);
    hash = Math.imul(hash, M) ^ k;
  }
  const left = length - at;
  if (left === 3) hash ^= key[at + 2]! << 16;
  if (left >= 2) hash ^= key[at + 1]! << 8;
  if (left >= 1) hash = Math.imul(hash ^ key[at]!, M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}

/**
 * Returns the partition of a key among `partitions`, the same as Kafka's Java client, and so every
 * other producer.
 */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % partitions;
}
