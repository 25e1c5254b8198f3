import { decodeNote } from '../../shared/kafka/consumer/commit-note';

/**
 * Reconstructs the commits of a group at any time from Kafka's own topic of commits: it records
 * exactly what a process that took over knew to be done.
 */

/** Kafka's topic of commits. */
export const COMMITS = '__consumer_offsets';

interface Commit {
  at: number;
  offset: number;
  metadata: string;
}

/** A commit in the topic: group, partition, offset, and metadata. */
interface Entry {
  group: string;
  topic: string;
  partition: number;
  offset: number;
  metadata: string;
}

export class Commits {
  /** by topic/partition, in order */
  readonly #made = new Map<string, Commit[]>();

  constructor(private readonly group: string) {}

  /**
   * Adds a record of the topic.
   * @param at ms since 1970
   */
  take(key: Buffer | null, value: Buffer | null, at: number): void {
    const entry = key && value ? decodeCommit(key, value) : undefined;
    if (entry?.group === this.group) this.add(entry, at);
  }

  add({ topic, partition, offset, metadata }: Omit<Entry, 'group'>, at: number): void {
    const place = `${topic}/${partition}`;
    const made = this.#made.get(place);
    if (made) made.push({ at, offset, metadata });
    else this.#made.set(place, [{ at, offset, metadata }]);
  }

  /** Returns whether any were found: without them every repeat could be excused. */
  get some(): boolean {
    return this.#made.size > 0;
  }

  /**
   * Returns whether a record was committed as done in that time: a process that reads it again
   * later has lost a commit.
   * @param record topic/partition/offset
   */
  covers(record: string, fromMs: number, untilMs: number): boolean {
    const slash = record.lastIndexOf('/');
    const offset = Number(record.slice(slash + 1));
    const made = this.#made.get(record.slice(0, slash)) ?? [];
    return made.some(
      (commit) => commit.at >= fromMs && commit.at <= untilMs && coversOffset(commit, offset),
    );
  }
}

function coversOffset(commit: Commit, offset: number): boolean {
  let end = commit.offset;
  if (offset < end) return true;
  for (const [i, length] of decodeNote(commit.offset, commit.metadata).runs.entries()) {
    end += length;
    if (offset < end) return i % 2 === 1;
  }
  return false;
}

const OFFSET_COMMIT_KEYS = [0, 1];

/**
 * @returns undefined for other records, such as a group's members
 * @throws if a commit has an unknown format
 */
export function decodeCommit(key: Buffer, value: Buffer): Entry | undefined {
  const name = new Reader(key);
  if (!OFFSET_COMMIT_KEYS.includes(name.int16())) return undefined;
  const place = {
    group: name.text(name.int16()),
    topic: name.text(name.int16()),
    partition: name.int32(),
  };
  const body = new Reader(value);
  const version = body.int16();
  if (version !== 3 && version !== 4) {
    throw new Error(`a commit of version ${version} cannot be read`);
  }
  const offset = body.int64();
  // The epoch of the leader.
  body.int32();
  return {
    ...place,
    offset,
    metadata: body.text(version === 3 ? body.int16() : body.varint() - 1),
  };
}

/** Reads Kafka's encoding, field by field. */
class Reader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  int16(): number {
    return this.bytes.readInt16BE((this.#at += 2) - 2);
  }

  int32(): number {
    return this.bytes.readInt32BE((this.#at += 4) - 4);
  }

  int64(): number {
    return Number(this.bytes.readBigInt64BE((this.#at += 8) - 8));
  }

  varint(): number {
    for (let [value, shift] = [0, 0]; ; shift += 7) {
      const byte = this.bytes.readUInt8(this.#at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  text(length: number): string {
    return this.bytes.toString('utf8', this.#at, (this.#at += Math.max(0, length)));
  }
}
