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

  /** @param start the first offset that will be taken */
  constructor(start: number) {
    this.#committable = start;
    this.#next = start;
  }

  /** All below it are done: the offset to commit. */
  get committable(): number {
    return this.#committable;
  }

  /** The next offset that has not been taken: where reading goes on. */
  get next(): number {
    return this.#next;
  }

  /** Records taken and not done. */
  get open(): number {
    return this.#open;
  }

  /** @returns false where the offset was taken before: the record is a second reading and must be skipped */
  take(offset: number): boolean {
    if (offset < this.#next) return false;
    this.#grow(offset);
    // What lies between was left out of the log.
    for (let gap = this.#next; gap < offset; gap++) this.#done[gap & (this.#done.length - 1)] = 1;
    this.#done[offset & (this.#done.length - 1)] = 0;
    this.#next = offset + 1;
    this.#open++;
    this.#advance();
    return true;
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
