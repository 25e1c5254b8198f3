import { Fifo } from './fifo';

/**
 * Shares the sockets of the process among its lanes: pure.
 *
 * Invariants: never more than `total` are taken. While others wait, no lane gets more than its share, which is the total
 * divided by the lanes that want places. The last `reserve` places are for lanes below their share, so that one that
 * has been quiet is not kept waiting by those that hang. Lanes that wait are served in turn, and of those that come free
 * one in so many goes to due retries while first attempts wait, and no more.
 */

export interface SocketSharesOptions {
  total: number;
  reserve: number;
}

/** First attempts and due retries wait apart. */
export type Kind = 'fresh' | 'due';

/** Of the places that come free, one in so many goes to a due retry while first attempts wait. */
export const DUE_SHARE = 4;

/** A lane's part of the pool. */
export interface Share {
  /** places it has */
  held: number;
  /** rings that it waits in; the pool's to change, as `held` is */
  waits: number;
  /** A place is given: start one of this kind, or of the other. @returns false where there is nothing to start */
  begin(kind: Kind, now: number): boolean;
}

/** The lanes below their share go first. */
type Rank = 'below' | 'above';
const RANKS = ['below', 'above'] as const;
const KINDS = ['fresh', 'due'] as const;

export class SocketShares {
  readonly #rings: Record<Rank, Record<Kind, Fifo<Share>>> = {
    below: { fresh: new Fifo(), due: new Fifo() },
    above: { fresh: new Fifo(), due: new Fifo() },
  };
  #used = 0;
  #waits = 0;
  /** lanes that have places or wait for one */
  #wanting = 0;
  #turn = 0;

  constructor(private readonly options: SocketSharesOptions) {}

  get used(): number {
    return this.#used;
  }

  /** What a lane may have while others wait, or of the reserve: counted with one more, so that the next finds room. */
  get share(): number {
    return Math.max(1, Math.floor(this.options.total / (this.#wanting + 1)));
  }

  /** Whether someone waits for a place. */
  get contended(): boolean {
    return this.#waits > 0;
  }

  /** Takes a place at once, if there is one for this lane. */
  take(seat: Share): boolean {
    if (this.#used >= this.options.total) return false;
    const plenty = !this.contended && !this.#atReserve;
    if (!plenty && this.#rank(seat) === 'above') return false;
    this.#occupy(seat, 1);
    return true;
  }

  /** It will be given a place (`begin`) when its turn comes. */
  wait(seat: Share, kind: Kind): void {
    const rank = this.#rank(seat);
    if (this.#rings[rank][kind].has(seat)) return;
    this.#exit(seat, rank === 'below' ? 'above' : 'below', kind);
    this.#rings[rank][kind].push(seat);
    this.#count(seat, 0, 1);
  }

  /** It wants none any more. */
  leave(seat: Share): void {
    if (seat.waits === 0) return;
    for (const rank of RANKS) for (const kind of KINDS) this.#exit(seat, rank, kind);
  }

  /** A place comes free, and goes to whoever's turn it is. */
  release(seat: Share, now: number): void {
    this.#occupy(seat, -1);
    for (const kind of KINDS) if (this.#rings.above[kind].has(seat)) this.wait(seat, kind);
    while (this.#used < this.options.total) {
      const next = this.#next();
      if (!next) return;
      this.#occupy(next.seat, 1);
      if (!next.seat.begin(next.kind, now)) this.#occupy(next.seat, -1);
    }
  }

  get #atReserve(): boolean {
    return this.#used >= this.options.total - this.options.reserve;
  }

  /** Whose turn it is; it leaves its ring. */
  #next(): { seat: Share; kind: Kind } | undefined {
    for (;;) {
      const { below } = this.#rings;
      const from: Rank = below.fresh.size + below.due.size > 0 ? 'below' : 'above';
      const { fresh, due } = this.#rings[from];
      const kind = this.#kind(fresh.size, due.size);
      const seat = this.#rings[from][kind].first;
      if (!seat) return undefined;
      const rank = this.#rank(seat);
      if (rank === 'above' && from === 'below') {
        // Others have come since, and its share is smaller now.
        this.wait(seat, kind);
        continue;
      }
      if (rank === 'above' && this.#atReserve) return undefined;
      if (fresh.size > 0 && due.size > 0) this.#turn++;
      this.#exit(seat, from, kind);
      return { seat, kind };
    }
  }

  #kind(fresh: number, due: number): Kind {
    if (fresh === 0) return 'due';
    return due > 0 && this.#turn % DUE_SHARE === DUE_SHARE - 1 ? 'due' : 'fresh';
  }

  #rank(seat: Share): Rank {
    return seat.held < this.share ? 'below' : 'above';
  }

  #occupy(seat: Share, places: 1 | -1): void {
    this.#used += places;
    this.#count(seat, places, 0);
  }

  #exit(seat: Share, rank: Rank, kind: Kind): void {
    if (this.#rings[rank][kind].delete(seat)) this.#count(seat, 0, -1);
  }

  #count(seat: Share, held: number, waits: number): void {
    const wanted = seat.held + seat.waits > 0;
    seat.held += held;
    seat.waits += waits;
    this.#waits += waits;
    this.#wanting += Number(seat.held + seat.waits > 0) - Number(wanted);
  }
}
