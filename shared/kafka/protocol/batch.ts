import { gunzipSync } from 'node:zlib';
import { ByteReader, type ByteWriter, crc32c, sizeOf, sizeOfVarint } from './bytes';

/**
 * Writes and reads record batches (magic 2, https://kafka.apache.org/documentation/#recordbatch).
 * It writes all records into one buffer. Of a record that it reads it finds only where the parts
 * begin; a part is decoded when somebody asks for it.
 */

const MAGIC = 2;
/** Positions of fields in a batch. */
const AT = {
  length: 8,
  epoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastDelta: 23,
  producerId: 43,
  count: 57,
  records: 61,
};
const LENGTH_END = 12;
const CODEC_BITS = 0x7;
const GZIP = 1;
/**
 * A batch of 1 MB may grow to 1 GB. Producers bound a batch before they compress it, far below
 * this.
 */
const MOST_INFLATED_BYTES = 64 * 1024 * 1024;
const LOG_APPEND_TIME = 0x8;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** A record to be written. */
export interface OutMessage {
  key?: Buffer | string | null;
  value: Buffer | string | null;
  headers?: Record<string, string>;
}

/**
 * Writes one batch. @param nowMs its timestamp, ms since 1970, which the broker replaces
 * (LogAppendTime)
 */
export function writeBatch(to: ByteWriter, messages: readonly OutMessage[], nowMs: number): void {
  const start = to.length;
  to.int64(0); // base offset
  to.int32(0); // length
  to.int32(0); // leader epoch
  to.int8(MAGIC);
  to.int32(0); // checksum
  to.int16(0); // attributes: no compression
  to.int32(messages.length - 1);
  to.int64(nowMs);
  to.int64(nowMs);
  to.int64(-1); // producer id
  to.int16(0); // producer epoch
  to.int32(0); // sequence
  to.int32(messages.length);
  for (const [i, message] of messages.entries()) writeRecord(to, message, i);
  to.int32At(to.length - start - LENGTH_END, start + AT.length);
  to.uint32At(crc32c(to.buffer, start + AT.attributes, to.length), start + AT.crc);
}

/** Attributes and timestamp delta: both are 0, and take one byte each. */
const FIXED_BYTES = 2;

function writeRecord(
  to: ByteWriter,
  { key = null, value, headers }: OutMessage,
  offsetDelta: number,
): void {
  const keyBytes = key === null ? -1 : sizeOf(key);
  const valueBytes = value === null ? -1 : sizeOf(value);
  // Several for each webhook: pairs of names and texts would be an array for each header.
  let count = 0;
  let size = FIXED_BYTES + sizeOfVarint(offsetDelta);
  for (const name in headers) {
    count++;
    size += textSize(name) + textSize(headers[name] ?? '');
  }
  size += sizeOfVarint(count);
  size +=
    sizeOfVarint(keyBytes) +
    Math.max(0, keyBytes) +
    sizeOfVarint(valueBytes) +
    Math.max(0, valueBytes);

  to.varint(size);
  to.int8(0);
  to.varint(0);
  to.varint(offsetDelta);
  to.varintBytes(key, keyBytes);
  to.varintBytes(value, valueBytes);
  to.varint(count);
  for (const name in headers) {
    const text = headers[name] ?? '';
    to.varintBytes(name, sizeOf(name));
    to.varintBytes(text, sizeOf(text));
  }
}

function textSize(text: string): number {
  const bytes = sizeOf(text);
  return sizeOfVarint(bytes) + bytes;
}

/** The common part of all records of a batch. */
interface FetchedBatch {
  /** contains the records */
  buffer: Buffer;
  /** the epoch of the leader that appended them */
  epoch: number;
  /** the end of a transaction, or records of one that was aborted: no reader sees them */
  isHidden: boolean;
}

/** A record in the buffer of its fetch; `key`, `value` and `headers` are decoded on access. */
export class FetchedRecord {
  #headers: Record<string, string> | undefined;

  constructor(
    private readonly batch: FetchedBatch,
    /** position of the length of its key */
    private readonly at: number,
    readonly offset: number,
    /** ms since 1970 */
    readonly timestamp: number,
  ) {}

  get epoch(): number {
    return this.batch.epoch;
  }

  get isHidden(): boolean {
    return this.batch.isHidden;
  }

  get key(): Buffer | null {
    return bytes(new ByteReader(this.batch.buffer, this.at));
  }

  get value(): Buffer | null {
    const reader = new ByteReader(this.batch.buffer, this.at);
    skip(reader);
    return bytes(reader);
  }

  get headers(): Record<string, string> {
    return (this.#headers ??= this.#readHeaders());
  }

  #readHeaders(): Record<string, string> {
    const reader = new ByteReader(this.batch.buffer, this.at);
    skip(reader);
    skip(reader);
    const headers: Record<string, string> = {};
    const count = reader.varint();
    // A broken record may promise any number.
    for (let i = 0; i < count && reader.at < reader.buffer.length; i++) {
      const name = headerName(reader, i);
      headers[name] = text(reader);
    }
    return headers;
  }
}

/**
 * The name that the header in this place of a record had last. Records of a topic have the same
 * headers, and comparing bytes takes a third of the time that a new text takes. It keeps names in
 * ASCII only: the characters of others differ from their bytes.
 */
const lastNames: string[] = [];

function headerName(reader: ByteReader, index: number): string {
  const begin = reader.at;
  const size = reader.varint();
  const last = lastNames[index];
  if (last?.length === size && isNext(reader, last)) {
    reader.at += size;
    return last;
  }
  reader.at = begin;
  const name = text(reader);
  if (index < MOST_NAMES && name.length === size) lastNames[index] = name;
  return name;
}

/** More headers than any record of Waypost has. */
const MOST_NAMES = 64;

/** Returns whether the next bytes are this text in ASCII. */
function isNext({ buffer, at }: ByteReader, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (buffer[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

function skip(reader: ByteReader): void {
  const size = reader.varint();
  if (size > 0) reader.at += size;
}

function bytes(reader: ByteReader): Buffer | null {
  const size = reader.varint();
  return size < 0 ? null : reader.buffer.subarray(reader.at, reader.at + size);
}

function text(reader: ByteReader): string {
  const size = reader.varint();
  return size <= 0 ? '' : reader.buffer.toString('utf8', reader.at, (reader.at += size));
}

export interface FetchedBatches {
  records: FetchedRecord[];
  /**
   * offset behind the last batch, even if compaction has removed its last records; undefined
   * without a batch
   */
  next: number | undefined;
}

/** A transaction whose records a broker returns although it was aborted. */
export interface AbortedTransaction {
  producerId: number;
  firstOffset: number;
}

/**
 * Reads the batches of one partition in a fetch. It skips an incomplete last batch: a fetch ends
 * when its byte limit is reached.
 * @throws if a batch is damaged, is compressed by another codec than gzip, or grows too much
 */
export function readBatches(
  buffer: Buffer,
  aborted: readonly AbortedTransaction[] = [],
): FetchedBatches {
  const records: FetchedRecord[] = [];
  const transactions = new OpenTransactions(aborted);
  let next: number | undefined;
  let start = 0;
  while (start + AT.records <= buffer.length) {
    const end = start + LENGTH_END + buffer.readInt32BE(start + AT.length);
    if (end > buffer.length) break;
    const magic = buffer.readInt8(start + AT.magic);
    if (magic !== MAGIC) throw new Error(`a batch has format ${magic}, from before Kafka 0.11`);
    if (end < start + AT.records) throw new Error('a batch is shorter than its head');
    const batch = buffer.subarray(start, end);
    if (crc32c(batch, AT.attributes) !== batch.readUInt32BE(AT.crc)) {
      throw new Error('a batch differs from its checksum');
    }
    readBatch(batch, transactions, records);
    next = Number(buffer.readBigInt64BE(start)) + buffer.readInt32BE(start + AT.lastDelta) + 1;
    start = end;
  }
  return { records, next };
}

/** Finds the batches of aborted transactions. */
class OpenTransactions {
  /** in the order of their first records */
  readonly #coming: AbortedTransaction[];
  readonly #aborted = new Set<number>();

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#coming = [...aborted].sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Call for each batch, in order. @returns whether it belongs to an aborted transaction */
  isAborted(batch: Buffer, attributes: number, lastOffset: number): boolean {
    if ((attributes & TRANSACTIONAL) === 0) return false;
    const producer = Number(batch.readBigInt64BE(AT.producerId));
    while (this.#coming[0] && this.#coming[0].firstOffset <= lastOffset) {
      const { producerId } = this.#coming[0];
      this.#coming.shift();
      this.#aborted.add(producerId);
    }
    // A control batch ends the transaction of its producer.
    return (attributes & CONTROL) === 0
      ? this.#aborted.has(producer)
      : this.#aborted.delete(producer);
  }
}

const FIRST_TIME = 27;

function readBatch(batch: Buffer, transactions: OpenTransactions, to: FetchedRecord[]): void {
  const head = new ByteReader(batch);
  const baseOffset = head.int64();
  const attributes = batch.readInt16BE(AT.attributes);
  head.at = FIRST_TIME;
  const firstTime = head.int64();
  const maxTime = head.int64();
  const fixedTime = (attributes & LOG_APPEND_TIME) !== 0;
  const codec = attributes & CODEC_BITS;
  if (codec > GZIP) throw new Error('a batch is compressed by another codec than gzip');
  const body = codec === GZIP ? inflated(batch.subarray(AT.records)) : batch;
  const lastOffset = baseOffset + batch.readInt32BE(AT.lastDelta);
  const isAborted = transactions.isAborted(batch, attributes, lastOffset);
  const fetched: FetchedBatch = {
    buffer: body,
    epoch: batch.readInt32BE(AT.epoch),
    isHidden: isAborted || (attributes & CONTROL) !== 0,
  };
  const reader = new ByteReader(body, codec === GZIP ? 0 : AT.records);
  for (let left = batch.readInt32BE(AT.count); left > 0; left--) {
    const size = reader.varint();
    const next = reader.at + size;
    if (size <= 0 || next > body.length) throw new Error('a batch has fewer records than it says');
    reader.at++;
    const timeDelta = reader.varint();
    const offset = baseOffset + reader.varint();
    const time = fixedTime ? maxTime : firstTime + timeDelta;
    to.push(new FetchedRecord(fetched, reader.at, offset, time));
    reader.at = next;
  }
}

function inflated(records: Buffer): Buffer {
  return gunzipSync(records, { maxOutputLength: MOST_INFLATED_BYTES });
}
