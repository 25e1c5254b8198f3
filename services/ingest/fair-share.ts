/**
 * A budget that many owners share, such that none can take it from the others: an owner may hold twice as much as is still
 * free (dynamic thresholds, as in the buffers of switches). One alone gets two thirds, and of many each gets less; what is
 * free is never taken whole.
 */
const TIMES_FREE = 2;
/** Owners that hold nothing are forgotten from so many on. */
const SWEEP_FROM = 4_096;

/** One owner's part. */
export interface Share {
  held: number;
}

export class FairShares {
  readonly #owners = new Map<string, Share>();
  #used = 0;
  #sweepAt = SWEEP_FROM;

  constructor(private readonly total: number) {}

  /** The part of a source or an address. Valid until the owner holds nothing and control returns to the event loop. */
  of(owner: string): Share {
    let share = this.#owners.get(owner);
    if (share === undefined) {
      if (this.#owners.size >= this.#sweepAt) this.#sweep();
      share = { held: 0 };
      this.#owners.set(owner, share);
    }
    return share;
  }

  /** @returns false, and takes nothing, where the owner has its part already */
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
