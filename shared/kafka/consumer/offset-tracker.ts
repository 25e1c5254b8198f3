/** States of a record. */
const OPEN = 0;
const DONE = 1;
const RELEASED = 2;

/**
 * Offsets scanned for one commit, which takes a millisecond. A record may be open, or deferred, for
 * hours. No commit notes the records done beyond them, so that each of these would be repeated.
 */
const MOST_OFFSETS = 1_000_000;
/** Each takes at least a byte, so that this is more than commit metadata has room for. */
const MOST_RUNS = 3_000;

/**
 * Tracks which records of one partition are open, and derives the offset to commit.
 *
 * Invariant: every offset below `committable` is done, and the record at `committable`, if it was
 * taken, is not. Records are taken in partition order and done in any order. Offsets that
 * compaction removed count as done. A released record is not done, but this process does not work
 * on it: the next owner takes it again, or this process does when it reads on from `readFrom`.
 */
export class OffsetTracker {
  /** ring buffer of states, indexed by the low bits of the offset */
  #done = new Uint8Array(1024);
  #committable: number;
  #next: number;
  #open = 0;
  #released = 0;
  #changes = 0;
  /** unread offsets that an earlier owner has done */
  readonly #doneBefore = new Set<number>();
  /** the last taken record, if it had been released before */
  #reclaimed: number | undefined;

  /**
   * @param start the first offset to be taken
   * @param runs result of an earlier owner's `doneRuns` from that offset on
   */
  constructor(start: number, runs: readonly number[] = []) {
    this.#committable = start;
    this.#next = start;
    let offset = start;
    for (const [i, length] of runs.entries()) {
      if (i % 2 === 1) for (let o = offset; o < offset + length; o++) this.#doneBefore.add(o);
      offset += length;
    }
  }

  /** The offset to commit: all records below it are done. */
  get committable(): number {
    return this.#committable;
  }

  /** The first offset that was not taken yet. */
  get next(): number {
    return this.#next;
  }

  /** The offset to read on from so that released records are read again. */
  get readFrom(): number {
    if (this.#released === 0) return this.#next;
    let offset = this.#committable;
    while (this.#state(offset) !== RELEASED) offset++;
    return offset;
  }

  /** Counts records done. A commit is due when it has changed. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Returns which records above `committable` are done, as lengths of alternating open and done
   * runs; the first run is open. It scans `MOST_OFFSETS` and stops after `MOST_RUNS`. Records left
   * out would only be repeated.
   */
  doneRuns(): number[] {
    const runs: number[] = [];
    let done = false;
    let length = 0;
    const end = Math.min(this.#next, this.#committable + MOST_OFFSETS);
    let offset = this.#committable;
    for (; offset < end && runs.length < MOST_RUNS; offset++) {
      if ((this.#state(offset) === DONE) !== done) {
        runs.push(length);
        [done, length] = [!done, 0];
      }
      length++;
    }
    runs.push(length);
    if (offset < this.#next) return runs;
    // Records that an earlier owner had done, and that were not read again here, are still done.
    const later = [...this.#doneBefore]
      .filter((offset) => offset >= this.#next)
      .sort((a, b) => a - b);
    return later.length > 0 ? withLater(runs, this.#next, later) : runs;
  }

  /** Number of records that were taken, and neither done nor released. */
  get open(): number {
    return this.#open;
  }

  /** Number of records handed back unprocessed. */
  get released(): number {
    return this.#released;
  }

  /**
   * True if a released record is so far behind `next` that commits cannot note the records done
   * after it.
   */
  get isFull(): boolean {
    return this.#released > 0 && this.#next - this.#committable >= MOST_OFFSETS;
  }

  /**
   * Returns how many of the offsets from `next` to before this one were not done by an earlier
   * owner: if the log begins here, they are lost.
   */
  gapBefore(offset: number): number {
    let gap = Math.max(0, offset - this.#next);
    if (gap > 0) {
      for (const done of this.#doneBefore) if (done >= this.#next && done < offset) gap--;
    }
    return gap;
  }

  /**
   * Gives up the released records below the start of the log: they count as done. @returns their
   * number
   */
  expire(logStart: number): number {
    const before = this.#released;
    for (
      let offset = this.#committable;
      offset < Math.min(logStart, this.#next) && this.#released > 0;
      offset++
    ) {
      if (this.#state(offset) !== RELEASED) continue;
      this.#done[offset & (this.#done.length - 1)] = DONE;
      this.#released--;
      this.#changes++;
    }
    this.#advance();
    return before - this.#released;
  }

  /** Forgets the records from an offset on: they were cut off the log. It may hold others there. */
  cutAt(end: number): void {
    for (let offset = Math.max(end, this.#committable); offset < this.#next; offset++) {
      const state = this.#state(offset);
      if (state === OPEN) this.#open--;
      if (state === RELEASED) this.#released--;
    }
    this.#committable = Math.min(this.#committable, end);
    this.#next = Math.min(this.#next, end);
    this.#reclaimed = undefined;
    for (const offset of this.#doneBefore) if (offset >= end) this.#doneBefore.delete(offset);
    // The last commit may tell of them.
    this.#changes++;
  }

  /**
   * Opens a record. @returns false if it must be skipped: it was taken before, or an earlier owner
   * has done it
   */
  take(offset: number): boolean {
    if (offset < this.#next) return this.#released > 0 && this.#reclaim(offset);
    this.#grow(offset);
    // Compaction removed the offsets in between.
    for (let gap = this.#next; gap < offset; gap++) {
      this.#done[gap & (this.#done.length - 1)] = DONE;
    }
    this.#done[offset & (this.#done.length - 1)] = OPEN;
    this.#next = offset + 1;
    this.#open++;
    const before = this.#doneBefore.delete(offset);
    if (before) this.done(offset);
    else this.#advance();
    return !before;
  }

  /** Reverts the last `take`: the record was refused and will be read again. */
  unread(offset: number): void {
    if (offset === this.#reclaimed) {
      this.release(offset);
      return;
    }
    if (offset !== this.#next - 1 || offset < this.#committable) {
      throw new RangeError(`only the last taken record can be unread, not ${String(offset)}`);
    }
    this.#next = offset;
    this.#open--;
  }

  /**
   * Marks a record as done; call once for each taken record, in any order. A record that is not
   * open is ignored.
   */
  done(offset: number): void {
    if (!this.#isOpen(offset)) return;
    this.#done[offset & (this.#done.length - 1)] = DONE;
    this.#open--;
    this.#changes++;
    this.#advance();
  }

  /** Hands an open record back unprocessed: it is neither open nor done. */
  release(offset: number): void {
    if (!this.#isOpen(offset)) return;
    this.#done[offset & (this.#done.length - 1)] = RELEASED;
    this.#open--;
    this.#released++;
    this.#reclaimed = undefined;
  }

  #reclaim(offset: number): boolean {
    if (offset < this.#committable || this.#state(offset) !== RELEASED) return false;
    this.#done[offset & (this.#done.length - 1)] = OPEN;
    this.#open++;
    this.#released--;
    this.#reclaimed = offset;
    return true;
  }

  #isOpen(offset: number): boolean {
    return offset >= this.#committable && offset < this.#next && this.#state(offset) === OPEN;
  }

  #state(offset: number): number | undefined {
    return this.#done[offset & (this.#done.length - 1)];
  }

  #advance(): void {
    while (this.#committable < this.#next && this.#state(this.#committable) === DONE) {
      this.#committable++;
    }
  }

  #grow(offset: number): void {
    // A jump over a long compacted stretch must not need a ring buffer as long as the stretch.
    if (this.#open === 0 && this.#released === 0 && offset > this.#next) {
      this.#next = offset;
      this.#committable = offset;
    }
    const span = offset + 1 - this.#committable;
    if (span <= this.#done.length) return;
    let size = this.#done.length;
    while (size < span) size *= 2;
    const wider = new Uint8Array(size);
    for (let o = this.#committable; o < this.#next; o++) {
      wider[o & (size - 1)] = this.#done[o & (this.#done.length - 1)] ?? 0;
    }
    this.#done = wider;
  }
}

/** Appends the runs of single `later` offsets to the runs that end at `next`. */
function withLater(runs: number[], next: number, later: readonly number[]): number[] {
  const result = [...runs];
  let end = next;
  for (const offset of later) {
    const open = offset - end;
    const lastIsDone = result.length % 2 === 0;
    const last = result.length - 1;
    if (lastIsDone && open === 0) result[last] = (result[last] ?? 0) + 1;
    else if (lastIsDone) result.push(open, 1);
    else {
      result[last] = (result[last] ?? 0) + open;
      result.push(1);
    }
    end = offset + 1;
  }
  return result;
}
