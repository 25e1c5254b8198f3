import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type InRecord } from '../../../shared/kafka/port';
import { decodeDelivery } from '../../../shared/model/delivery';

/**
 * Packs the searchable texts of deliveries: many texts in one compressed chunk, in lower case, so that a search is a
 * scan of bytes. A chunk needs a third of the space of its texts, and no index.
 */

/** The searchable text of one delivery. */
export interface Entry {
  id: string;
  /** ms since 1970 */
  acceptedAt: number;
  source: string;
  user: string | null;
  /** null if `user` is set */
  anonymous: string | null;
  /** in lower case: user id, message id, event and body, a line each */
  text: string;
}

/** An entry without its text. */
export type Found = Omit<Entry, 'text'>;

/** Longer bodies are searchable up to here. */
const MAX_CHARACTERS = 64 * 1024;

/** Returns the entry of a record of `webhooks`; undefined if it cannot be read. */
export function entryOf({ headers, value }: InRecord): Entry | undefined {
  const decoded = decodeDelivery(headers);
  if (decoded.kind !== 'delivery') return undefined;
  const { id, acceptedAt, sourceId: source, userId, anonymousId, messageId, event } = decoded.delivery;
  const texts = [userId ?? anonymousId ?? '', messageId, event ?? '', value?.toString() ?? ''];
  const text = texts.map(oneLine).join('\n').slice(0, MAX_CHARACTERS);
  return { id, acceptedAt, source, user: userId ?? null, anonymous: anonymousId ?? null, text };
}

function oneLine(text: string): string {
  return text.toLowerCase().replaceAll('\n', ' ');
}

/** Returns the texts to look for: as given, and as JSON writes it. */
export function needlesOf(query: string): Buffer[] {
  const text = oneLine(query);
  const inJson = oneLine(JSON.stringify(query).slice(1, -1));
  return [...new Set([text, inJson])].map((each) => Buffer.from(each));
}

/** `end`: offset of the byte after its text */
type Head = Found & { end: number };

export interface Chunk {
  heads: Head[];
  text: Buffer;
}

export interface PackedChunk {
  /** of the entries' acceptance, ms since 1970 */
  from: number;
  to: number;
  /** bytes of the texts */
  raw: number;
  /** base64 */
  data: string;
}

/** Splits entries by the length of their texts. */
export function inChunks(entries: readonly Entry[], maxCharacters: number): Entry[][] {
  const chunks: Entry[][] = [];
  let length = Infinity;
  for (const entry of entries) {
    length += entry.text.length;
    if (length > maxCharacters) {
      chunks.push([]);
      length = entry.text.length;
    }
    chunks.at(-1)?.push(entry);
  }
  return chunks;
}

/** Little compression: most of the gain is in repeated keys and values. A quarter of the CPU of the next levels is saved. */
const LEVEL = 1;
/** Without it, zlib passes each 16 KB of its output from a thread of its own. */
const OUTPUT_BYTES = 512 * 1024;
const deflate = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
const inflate = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);
const DEFLATE: ZlibOptions = { level: LEVEL, memLevel: 9, chunkSize: OUTPUT_BYTES / 4 };
const INFLATE: ZlibOptions = { chunkSize: OUTPUT_BYTES };
const LENGTH_BYTES = 4;

/** @param entries at least one */
export async function pack(entries: readonly Entry[]): Promise<PackedChunk> {
  let end = -1;
  const heads = entries.map(({ text, ...entry }): Head => {
    end += Buffer.byteLength(text) + 1;
    return { ...entry, end };
  });
  const head = JSON.stringify(heads);
  const headBytes = Buffer.byteLength(head);
  const raw = end + 1;
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES + headBytes + raw);
  bytes.writeUInt32LE(headBytes);
  let at = LENGTH_BYTES;
  at += bytes.write(head, at);
  for (const { text } of entries) {
    at += bytes.write(text, at);
    bytes[at++] = NEWLINE;
  }
  const packed = await deflate(bytes, DEFLATE);
  const times = entries.map(({ acceptedAt }) => acceptedAt);
  return {
    from: times.reduce((a, b) => Math.min(a, b), Infinity),
    to: times.reduce((a, b) => Math.max(a, b), -Infinity),
    raw,
    data: packed.toString('base64'),
  };
}

const NEWLINE = 0x0a;

export async function unpack(data: string): Promise<Chunk> {
  const bytes = await inflate(Buffer.from(data, 'base64'), INFLATE);
  const begin = LENGTH_BYTES + bytes.readUInt32LE();
  const heads = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, begin)) as Head[];
  return { heads, text: bytes.subarray(begin) };
}

export function entriesOf({ heads, text }: Chunk): Entry[] {
  let begin = 0;
  return heads.map(({ end, ...entry }) => {
    const own = text.toString('utf8', begin, end);
    begin = end + 1;
    return { ...entry, text: own };
  });
}

/** Returns the entries with one of the needles. */
export function find({ heads, text }: Chunk, needles: readonly Buffer[]): Found[] {
  const found = new Set<Head>();
  for (const needle of needles) {
    let i = 0;
    for (let at = text.indexOf(needle); at >= 0;) {
      while ((heads[i]?.end ?? Infinity) <= at) i++;
      const head = heads[i];
      if (!head) break;
      found.add(head);
      at = text.indexOf(needle, head.end);
    }
  }
  return [...found];
}
