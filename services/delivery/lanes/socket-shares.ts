import { CompactingMap } from '../../../shared/collections/compacting-map';
import { DUE_SHARE, type Kind } from './job';

/**
 * Shares the sockets of the process among its lanes. Pure.
 *
 * Invariants: never more than `total` are taken. While others wait, no lane gets more than its
 * share, which is the total divided by the number of lanes that want places. The last `reserve`
 * places are for lanes below their share, so that hanging lanes do not keep a quiet one waiting.
 * Waiting lanes are served round robin. While first attempts wait, exactly one free place in
 * `DUE_SHARE` goes to due retries.
 */

export interface SocketSharesOptions {
  total: number;
  reserve: number;
}

/** A lane's part of the sockets. */
export interface Share {
  /** places it has */
  held: number;
  /** rings it waits in; changed by `SocketShares` alone, as is `held` */
  waits: number;
  /**
   * Starts a job of this kind, or of the other, in the given place. @returns false if there is
   * nothing to start
   */
  onPlace(kind: Kind, now: number): boolean;
}

/** Lanes below their share go first. */
type Rank = 'below' | 'above';
const RANKS = ['below', 'above'] as const;
const KINDS = ['fresh', 'due'] as const;
/** Waiting lanes, first come first. */
type Ring = CompactingMap<Share, true>;

export class SocketShares {
  readonly #rings: Record<Rank, Record<Kind, Ring>> = {
    below: { fresh: new CompactingMap(), due: new CompactingMap() },
    above: { fresh: new CompactingMap(), due: new CompactingMap() },
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

  /**
   * Places that a lane may have while others wait, or while only the reserve is left. Counts one
   * lane more, so that the next finds room.
   */
  get share(): number {
    return Math.max(1, Math.floor(this.options.total / (this.#wanting + 1)));
  }

  /** True while any lane waits for a place. */
  get contended(): boolean {
    return this.#waits > 0;
  }

  /** Takes a place immediately, if there is one for this lane. */
  take(seat: Share): boolean {
    if (this.#used >= this.options.total) return false;
    const plenty = !this.contended && !this.#atReserve;
    if (!plenty && this.#rank(seat) === 'above') return false;
    this.#occupy(seat, 1);
    return true;
  }

  /** Queues a lane for a place, which `onPlace` gives it in its turn. */
  wait(seat: Share, kind: Kind): void {
    const rank = this.#rank(seat);
    if (this.#rings[rank][kind].has(seat)) return;
    this.#exit(seat, rank === 'below' ? 'above' : 'below', kind);
    this.#rings[rank][kind].set(seat, true);
    this.#count(seat, 0, 1);
  }

  /** Removes a lane from all rings. */
  leave(seat: Share): void {
    if (seat.waits === 0) return;
    for (const rank of RANKS) for (const kind of KINDS) this.#exit(seat, rank, kind);
  }

  /** Frees a place and gives it to the next lane. */
  release(seat: Share, now: number): void {
    this.#occupy(seat, -1);
    for (const kind of KINDS) if (this.#rings.above[kind].has(seat)) this.wait(seat, kind);
    while (this.#used < this.options.total) {
      const next = this.#next();
      if (!next) return;
      this.#occupy(next.seat, 1);
      if (!next.seat.onPlace(next.kind, now)) this.#occupy(next.seat, -1);
    }
  }

  get #atReserve(): boolean {
    return this.#used >= this.options.total - this.options.reserve;
  }

  /** Takes the next lane out of its ring. */
  #next(): { seat: Share; kind: Kind } | undefined {
    for (;;) {
      const { below } = this.#rings;
      const from: Rank = below.fresh.size + below.due.size > 0 ? 'below' : 'above';
      const { fresh, due } = this.#rings[from];
      const kind = this.#kind(fresh.size, due.size);
      const [seat] = this.#rings[from][kind].keys();
      if (!seat) return undefined;
      const rank = this.#rank(seat);
      if (rank === 'above' && from === 'below') {
        // More lanes have come since, so its share is smaller now.
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
