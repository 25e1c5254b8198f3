/** What a record taken can be. */
const OPEN = 0;
const DONE = 1;
const RELEASED = 2;

/** Offsets that are looked through for each commit: a millisecond. A record may be open, or deferred, for hours. */
const MOST_OFFSETS = 1_000_000;
/** A byte each at least: more than the metadata of a commit has room for. */
const MOST_RUNS = 3_000;

/**
 * Which records of one partition are open, and up to where it may be committed.
 *
 * Invariant: every offset below `committable` is done, and the one at `committable`, if it was taken, is not. Records
 * are taken in the order of the partition and done in any order; offsets that the log left out (compaction) never
 * existed and hold nothing up. What is released is not done either, but nobody works on it: it is taken again by the
 * next owner, or by this one when it reads on from `readFrom`.
 */
export class OffsetTracker {
  /** ring of states, indexed by the low bits of the offset */
  #done = new Uint8Array(1024);
  #committable: number;
  #next: number;
  #open = 0;
  #released = 0;
  #changes = 0;
  /** offsets not yet read that an earlier owner has done */
  readonly #doneBefore = new Set<number>();
  /** the record taken last, where it had been released before */
  #reclaimed: number | undefined;

  /**
   * @param start the first offset that will be taken
   * @param runs what an earlier owner had done from there on, as `doneRuns` gave it
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

  /** All below it are done: the offset to commit. */
  get committable(): number {
    return this.#committable;
  }

  /** The next offset that has not been taken: where reading goes on. */
  get next(): number {
    return this.#next;
  }

  /** Where to read on so that what was released is met again. */
  get readFrom(): number {
    if (this.#released === 0) return this.#next;
    let offset = this.#committable;
    while (this.#state(offset) !== RELEASED) offset++;
    return offset;
  }

  /** Grows with each record done: a commit is due when it has changed. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * What is done above `committable`: lengths of runs in turn open and done, the first one open. It looks through
   * `MOST_OFFSETS` and stops after `MOST_RUNS`: what is left out would only be repeated.
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
    // What an earlier owner had done and has not been read again is still done.
    const later = [...this.#doneBefore].filter((offset) => offset >= this.#next).sort((a, b) => a - b);
    return later.length > 0 ? withLater(runs, this.#next, later) : runs;
  }

  /** Records taken, and neither done nor released. */
  get open(): number {
    return this.#open;
  }

  /** Records given back untouched. */
  get released(): number {
    return this.#released;
  }

  /** @returns false where the record must be skipped: taken before (a second reading), or done by an earlier owner */
  take(offset: number): boolean {
    if (offset < this.#next) return this.#released > 0 && this.#reclaim(offset);
    this.#grow(offset);
    // What lies between was left out of the log.
    for (let gap = this.#next; gap < offset; gap++) this.#done[gap & (this.#done.length - 1)] = DONE;
    this.#done[offset & (this.#done.length - 1)] = OPEN;
    this.#next = offset + 1;
    this.#open++;
    const before = this.#doneBefore.delete(offset);
    if (before) this.done(offset);
    else this.#advance();
    return !before;
  }

  /** Takes back the newest `take`: the record was refused and will be read again. */
  unread(offset: number): void {
    if (offset === this.#reclaimed) {
      this.release(offset);
      return;
    }
    if (offset !== this.#next - 1 || offset < this.#committable) {
      throw new RangeError(`only the record taken last can be given back, not ${String(offset)}`);
    }
    this.#next = offset;
    this.#open--;
  }

  /** Once for each record taken, in any order. What is not open is ignored. */
  done(offset: number): void {
    if (!this.#isOpen(offset)) return;
    this.#done[offset & (this.#done.length - 1)] = DONE;
    this.#open--;
    this.#changes++;
    this.#advance();
  }

  /** Gives an open record back untouched: it is not waited for, and not done. */
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
    while (this.#committable < this.#next && this.#state(this.#committable) === DONE) this.#committable++;
  }

  #grow(offset: number): void {
    // A leap over everything taken (a long compacted stretch) must not need a ring as long as the stretch.
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

/** Runs up to `next`, and behind them those of single offsets further on. */
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
