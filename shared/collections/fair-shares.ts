const TIMES_FREE = 2;
/** Number of owners at which the owners that hold nothing are removed. */
const SWEEP_FROM = 4_096;

/** The amount that one owner holds. */
export interface Share {
  held: number;
}

/**
 * Shares a budget among many owners so that none can starve the others: an owner may hold twice as
 * much as is still free (dynamic thresholds, as in the buffers of network switches). A single owner
 * gets two thirds, and each of many gets less; a part always stays free.
 */
export class FairShares {
  readonly #owners = new Map<string, Share>();
  #used = 0;
  #sweepAt = SWEEP_FROM;

  constructor(private readonly total: number) {}

  /**
   * Returns the share of a source or an address. Valid until the owner holds nothing and control
   * returns to the event loop.
   */
  of(owner: string): Share {
    let share = this.#owners.get(owner);
    if (share === undefined) {
      if (this.#owners.size >= this.#sweepAt) this.#sweep();
      share = { held: 0 };
      this.#owners.set(owner, share);
    }
    return share;
  }

  /** @returns false, and takes nothing, if the owner already holds its share */
  take(share: Share, amount: number): boolean {
    if (share.held + amount > TIMES_FREE * (this.total - this.#used - amount)) return false;
    share.held += amount;
    this.#used += amount;
    return true;
  }

  give(share: Share, amount: number): void {
    share.held -= amount;
    this.#used -= amount;
  }

  #sweep(): void {
    for (const [owner, { held }] of this.#owners) if (held === 0) this.#owners.delete(owner);
    this.#sweepAt = Math.max(SWEEP_FROM, this.#owners.size * 2);
  }
}
