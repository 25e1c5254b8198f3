import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type InRecord } from '../../../shared/kafka/port';
import { decodeDelivery } from '../../../shared/model/delivery';

/**
 * Packs the searchable texts of deliveries: many texts in one compressed chunk, in lower case, so
 * that a search is a scan of bytes. A chunk needs a third of the space of its texts, and no index.
 */

/** A delivery with a searchable text. */
export interface Found {
  id: string;
  /** ms since 1970 */
  acceptedAt: number;
  source: string;
  user: string | null;
  /** null if `user` is set */
  anonymous: string | null;
}

export interface Entry extends Found {
  /** in lower case: user id, message id, event and body, a line each */
  lines: readonly string[];
}

/** Longer bodies are searchable up to here. */
const MAX_CHARACTERS = 64 * 1024;

export function entryOf({ headers, value }: InRecord): Entry | undefined {
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
  const lines = [...about, oneLine(value?.toString() ?? '').slice(0, Math.max(0, left))];
  return { id, acceptedAt, source, user: userId ?? null, anonymous: anonymousId ?? null, lines };
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

const FIRST_BYTES = 32 * 1024;
/** Under load all chunks become whole. Most then have room with one step. */
const WHOLE_BYTES = 640 * 1024;
/** UTF-8 takes at most this for each UTF-16 code unit. */
const MOST_BYTES = 3;

/**
 * Splits entries by the length of their texts. Waiting strings would fill the heap, so it copies
 * each text into a buffer.
 */
export class Chunks {
  readonly #chunks: OpenChunk[] = [];

  constructor(private readonly maxCharacters: number) {}

  add(entry: Entry): void {
    const characters = entry.lines.reduce((sum, line) => sum + line.length + 1, 0);
    const last = this.#chunks.at(-1);
    if (last && last.characters + characters <= this.maxCharacters) last.add(entry, characters);
    else this.#chunks.push(new OpenChunk(entry, characters));
  }

  pack(): Promise<PackedChunk[]> {
    return Promise.all(this.#chunks.map((chunk) => chunk.pack()));
  }
}

class OpenChunk {
  characters = 0;
  readonly #heads: Head[] = [];
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  /** bytes so far */
  #at = 0;

  constructor(first: Entry, characters: number) {
    this.add(first, characters);
  }

  add({ id, acceptedAt, source, user, anonymous, lines }: Entry, characters: number): void {
    this.characters += characters;
    this.#makeRoom(characters * MOST_BYTES);
    for (const line of lines) {
      this.#at += this.#bytes.write(line, this.#at);
      this.#bytes[this.#at++] = NEWLINE;
    }
    this.#heads.push({ id, acceptedAt, source, user, anonymous, end: this.#at - 1 });
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(
      Math.max(WHOLE_BYTES, 2 * this.#bytes.length, this.#at + bytes),
    );
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  async pack(): Promise<PackedChunk> {
    const head = Buffer.from(JSON.stringify(this.#heads));
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeUInt32LE(head.length);
    const packed = await deflate(
      Buffer.concat([length, head, this.#bytes.subarray(0, this.#at)]),
      DEFLATE,
    );
    const times = this.#heads.map(({ acceptedAt }) => acceptedAt);
    return {
      from: times.reduce((a, b) => Math.min(a, b), Infinity),
      to: times.reduce((a, b) => Math.max(a, b), -Infinity),
      raw: this.#at,
      data: packed.toString('base64'),
    };
  }
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
    return { ...entry, lines: [own] };
  });
}

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
