/**
 * Counts milliseconds, exactly below a thousand and to three digits above: millions of them in
 * little memory.
 */
export class Histogram {
  readonly #counts = new Map<number, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(ms: number): void {
    const bin = ms < 1_000 ? Math.round(ms) : Number(ms.toPrecision(3));
    this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + 1);
    this.#size++;
  }

  /** Returns the smallest value that is not below `share` (0 to 1) of all; NaN for none. */
  percentile(share: number): number {
    const bins = [...this.#counts].sort(([a], [b]) => a - b);
    let rest = Math.max(1, Math.ceil(share * this.#size));
    for (const [ms, count] of bins) {
      rest -= count;
      if (rest <= 0) return ms;
    }
    return NaN;
  }
}
