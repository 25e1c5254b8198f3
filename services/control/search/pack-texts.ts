import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type InRecord } from '../../../shared/kafka/port';
import { decodeDelivery } from '../../../shared/model/delivery';

/**
 * Packs the searchable texts of deliveries: many texts in one compressed chunk, in lower case, so
 * that a search is a scan of bytes. A chunk needs a third of the space of its texts, and no index.
 */

/** A delivery with a searchable text. */
export interface SearchableDelivery {
  id: string;
  /** ms since 1970 */
  acceptedAt: number;
  source: string;
  user: string | null;
  /** null if `user` is set */
  anonymous: string | null;
}

export interface SearchEntry extends SearchableDelivery {
  /** in lower case: user id, message id, event and body, a line each */
  text: string;
}

/** Longer bodies are searchable up to here. */
const MAX_CHARACTERS = 64 * 1024;

export function entryOf({ headers, value }: InRecord): SearchEntry | undefined {
  const decoded = decodeDelivery(headers);
  if (decoded.kind !== 'delivery') return undefined;
  const {
    id,
    acceptedAt,
    sourceId: source,
    userId,
    anonymousId,
    messageId,
    event,
  } = decoded.delivery;
  const about = [userId ?? anonymousId ?? '', messageId, event ?? ''].map(oneLine);
  const left = about.reduce((characters, line) => characters - line.length - 1, MAX_CHARACTERS);
  const body = oneLine(value?.toString() ?? '').slice(0, Math.max(0, left));
  const text = [...about, body].join('\n');
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
type Head = SearchableDelivery & { end: number };

export interface Chunk {
  heads: Head[];
  text: Buffer;
}

export interface PackedChunk {
  /** when the first and the last of the entries were accepted, ms since 1970 */
  from: number;
  to: number;
  /** length of the texts, bytes */
  raw: number;
  /** base64 */
  data: string;
}

/**
 * Most of the gain comes from repeated keys and values. The level saves a quarter of the CPU time
 * of the next ones.
 */
const LEVEL = 1;
/** By default, zlib goes through its thread pool once for each 16 KB of output. */
const OUTPUT_BYTES = 512 * 1024;
const deflate = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
const inflate = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);
const DEFLATE: ZlibOptions = { level: LEVEL, memLevel: 9, chunkSize: OUTPUT_BYTES / 4 };
const INFLATE: ZlibOptions = { chunkSize: OUTPUT_BYTES };
const LENGTH_BYTES = 4;

/** Packs entries into chunks of at most so many characters of text, or of one entry. */
export function pack(
  entries: readonly SearchEntry[],
  maxCharacters: number,
): Promise<PackedChunk[]> {
  const chunks: SearchEntry[][] = [];
  let left = 0;
  for (const entry of entries) {
    const characters = entry.text.length + 1;
    const last = chunks.at(-1);
    if (last && characters <= left) {
      last.push(entry);
      left -= characters;
    } else {
      chunks.push([entry]);
      left = maxCharacters - characters;
    }
  }
  return Promise.all(chunks.map(packChunk));
}

async function packChunk(entries: readonly SearchEntry[]): Promise<PackedChunk> {
  const texts: Buffer[] = [];
  const heads: Head[] = [];
  let end = -1;
  for (const { text, ...found } of entries) {
    const bytes = Buffer.from(`${text}\n`);
    end += bytes.length;
    texts.push(bytes);
    heads.push({ ...found, end });
  }
  const head = Buffer.from(JSON.stringify(heads));
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  const packed = await deflate(Buffer.concat([length, head, ...texts]), DEFLATE);
  const times = entries.map(({ acceptedAt }) => acceptedAt);
  return {
    from: times.reduce((a, b) => Math.min(a, b), Infinity),
    to: times.reduce((a, b) => Math.max(a, b), -Infinity),
    raw: end + 1,
    data: packed.toString('base64'),
  };
}

export async function unpack(data: string): Promise<Chunk> {
  const bytes = await inflate(Buffer.from(data, 'base64'), INFLATE);
  const begin = LENGTH_BYTES + bytes.readUInt32LE();
  const heads = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, begin)) as Head[];
  return { heads, text: bytes.subarray(begin) };
}

export function entriesOf({ heads, text }: Chunk): SearchEntry[] {
  let begin = 0;
  return heads.map(({ end, ...entry }) => {
    const own = text.toString('utf8', begin, end);
    begin = end + 1;
    return { ...entry, text: own };
  });
}

export function find({ heads, text }: Chunk, needles: readonly Buffer[]): SearchableDelivery[] {
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
