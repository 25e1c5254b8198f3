/**
 * Which records of one partition are open, and up to where it may be committed.
 *
 * Invariant: every offset below `committable` is done, and the one at `committable`, if it was taken, is not. Records
 * are taken in the order of the partition and done in any order; offsets that the log left out (compaction) never
 * existed and hold nothing up.
 */
export class Ledger {
  /** ring of flags, indexed by the low bits of the offset: 1 = done */
  #done = new Uint8Array(1024);
  #committable: number;
  #next: number;
  #open = 0;
  #changes = 0;
  /** offsets not yet read that an earlier owner has done */
  readonly #doneBefore = new Set<number>();

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

  /** Grows with each record done: a commit is due when it has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** What is done above `committable`: lengths of runs in turn open and done, the first one open. */
  doneRuns(): number[] {
    const runs: number[] = [];
    const mask = this.#done.length - 1;
    let state = 0;
    let length = 0;
    for (let offset = this.#committable; offset < this.#next; offset++) {
      if (this.#done[offset & mask] !== state) {
        runs.push(length);
        [state, length] = [1 - state, 0];
      }
      length++;
    }
    runs.push(length);
    // What an earlier owner had done and has not been read again is still done.
    const later = [...this.#doneBefore].filter((offset) => offset >= this.#next).sort((a, b) => a - b);
    return later.length > 0 ? withLater(runs, this.#next, later) : runs;
  }

  /** Records taken and not done. */
  get open(): number {
    return this.#open;
  }

  /** @returns false where the record must be skipped: taken before (a second reading), or done by an earlier owner */
  take(offset: number): boolean {
    if (offset < this.#next) return false;
    this.#grow(offset);
    // What lies between was left out of the log.
    for (let gap = this.#next; gap < offset; gap++) this.#done[gap & (this.#done.length - 1)] = 1;
    this.#done[offset & (this.#done.length - 1)] = 0;
    this.#next = offset + 1;
    this.#open++;
    const before = this.#doneBefore.delete(offset);
    if (before) this.done(offset);
    else this.#advance();
    return !before;
  }

  /** Takes back the newest `take`: the record was refused and will be read again. */
  untake(offset: number): void {
    if (offset !== this.#next - 1 || offset < this.#committable) {
      throw new RangeError(`only the record taken last can be given back, not ${String(offset)}`);
    }
    this.#next = offset;
    this.#open--;
  }

  /** Once for each record taken, in any order. What is not open is ignored. */
  done(offset: number): void {
    const slot = offset & (this.#done.length - 1);
    if (offset < this.#committable || offset >= this.#next || this.#done[slot] === 1) return;
    this.#done[slot] = 1;
    this.#open--;
    this.#changes++;
    this.#advance();
  }

  #advance(): void {
    const mask = this.#done.length - 1;
    while (this.#committable < this.#next && this.#done[this.#committable & mask] === 1) this.#committable++;
  }

  #grow(offset: number): void {
    // A leap over everything taken (a long compacted stretch) must not need a ring as long as the stretch.
    if (this.#open === 0 && offset > this.#next) {
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
