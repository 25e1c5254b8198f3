import { type OffsetTracker } from './offset-tracker';

/** Interval of commits while only records above the offset are finished. */
const RUNS_EVERY_MS = 200;
/** Longer than kafkajs needs for the first fetches of an assignment. */
const COMMITS_AGAIN_MS = 3_000;

/** Times are in ms, by `performance.now()`, which does not jump when the clock is set. */
export interface Commit {
  offset: number;
  /** from `encodeRuns` */
  metadata: string;
  /** `changes` of the offset tracker at this commit */
  changes: number;
  atMs: number;
}

/** Tracks the last commit of one partition, and decides when the next one is due. */
export class LastCommit {
  /** the last commit that was sent: Kafka may have stored it although no answer came */
  #sent: Commit | undefined;
  #stored: Commit;
  /** commits are sent until then even without a change */
  #againUntil = -Infinity;

  /** @param metadata that was committed with the offset */
  constructor(offset: number, metadata: string) {
    this.#stored = { offset, metadata, changes: 0, atMs: 0 };
  }

  /** negative without a commit */
  get offset(): number {
    return this.#stored.offset;
  }

  /** Repeats the commit for a while, because kafkajs may commit that it has none. */
  repeat(): void {
    this.#againUntil = performance.now() + COMMITS_AGAIN_MS;
  }

  /**
   * Returns whether the stored commit is the last one of this process, so that no other owner has
   * committed since.
   */
  isOwn(found: LastCommit): boolean {
    const { offset, metadata } = found.#stored;
    if (offset < this.offset) return true;
    return [this.#sent, this.#stored].some(
      (own) => own?.offset === offset && own.metadata === metadata,
    );
  }

  uncommitted({ changes }: OffsetTracker): number {
    return changes - this.#stored.changes;
  }

  /** Returns whether all finished records are committed, also those above the offset. */
  covers({ committable, changes }: OffsetTracker): boolean {
    return this.offset === committable && this.#stored.changes === changes;
  }

  /**
   * Returns what to commit; undefined without a change, or if only metadata has changed since a
   * recent commit.
   */
  next(offsets: OffsetTracker, nowMs: number): Commit | undefined {
    const { committable: offset, changes } = offsets;
    const idle = changes === this.#stored.changes && nowMs >= this.#againUntil;
    if (offset <= this.offset && (idle || nowMs - this.#stored.atMs < RUNS_EVERY_MS)) {
      return undefined;
    }
    return (this.#sent = {
      offset,
      metadata: encodeRuns(offsets.doneRuns()),
      changes,
      atMs: nowMs,
    });
  }

  acknowledged(commit: Commit): void {
    this.#stored = commit;
  }
}

/**
 * Encodes the records done above the committed offset as commit metadata: lengths of alternating
 * runs (open, done, open, done …) from the committed offset on, as varints in base64url. The next
 * owner skips these records. Without it, one request that hangs for five seconds would make a crash
 * repeat thousands.
 */

const MARK = 'r1.';
/**
 * Brokers accept 4,096 bytes by default (`offset.metadata.max.bytes`). Records that do not fit are
 * only repeated.
 */
const MAX_BYTES = 2_900;

/**
 * @param runs lengths, the first of an open run; a last open run is left out, because it adds
 *   nothing
 */
export function encodeRuns(runs: readonly number[]): string {
  const bytes: number[] = [];
  for (let i = 0; i + 1 < runs.length; i += 2) {
    const pair = [...varint(runs[i] ?? 0), ...varint(runs[i + 1] ?? 0)];
    if (bytes.length + pair.length > MAX_BYTES) break;
    bytes.push(...pair);
  }
  return bytes.length === 0 ? '' : MARK + Buffer.from(bytes).toString('base64url');
}

/** Decodes the result of `encodeRuns`; any other text gives no runs. */
export function decodeRuns(text: string | null | undefined): number[] {
  if (!text?.startsWith(MARK)) return [];
  const runs: number[] = [];
  let value = 0;
  let shift = 1;
  for (const byte of Buffer.from(text.slice(MARK.length), 'base64url')) {
    value += (byte & 0x7f) * shift;
    shift *= 128;
    if (byte & 0x80) continue;
    runs.push(value);
    [value, shift] = [0, 1];
  }
  return runs;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 128) {
    bytes.push((left % 128) | 0x80);
    left = Math.floor(left / 128);
  }
  bytes.push(left);
  return bytes;
}
