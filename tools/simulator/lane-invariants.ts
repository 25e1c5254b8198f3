import { type SocketSharesOptions } from '../../services/delivery/lanes/socket-shares';
import { DUE_SHARE } from '../../services/delivery/lanes/job';
import { type Book } from './delivery-audit';

/**
 * Checks the requests of one process from outside its lanes, and reports violated promises:
 * sockets, shares, first attempts before retries in each lane, and the ramp of an endpoint after an
 * outage.
 */

interface LaneSeen {
  open: number;
  /** undefined: closed, and not after an outage */
  outage?: Outage;
  /** started retries ahead of their share while first attempts waited */
  ahead: number;
  /** first attempts in its queue at the last start */
  firstWaiting: number;
}

interface Outage {
  state: 'open' | 'recovering';
  /** requests that began in this state and are open */
  open: Set<object>;
  successes: number;
}

/** What the process says of the queue of a lane when a request begins. */
interface Queued {
  /** number of first attempts in it */
  firstWaiting: number;
  /** sockets are given in turns over all lanes */
  sharesSockets: boolean;
}

/** Retries may be a turn or two ahead of one in four. */
const AHEAD = 2 * DUE_SHARE;

export interface Bounds {
  pool: SocketSharesOptions;
  ceiling: number;
  recoveredAt: number;
}

export class Crowd {
  readonly #lanes = new Map<string, LaneSeen>();
  #open = 0;
  #lanesOpen = 0;

  constructor(
    private readonly book: Book,
    private readonly bounds: Bounds,
  ) {}

  get open(): number {
    return this.#open;
  }

  /**
   * @param request identifies it in `ended`
   * @returns the number of open requests in its lane
   */
  began(name: string, kind: 'fresh' | 'due', request: object, queued: Queued): number {
    const lane = this.#lane(name);
    this.#checkPlaces(lane);
    this.#checkTurn(lane, kind, queued);
    if (lane.open++ === 0) this.#lanesOpen++;
    this.#open++;
    if (lane.open > this.bounds.ceiling) this.book.violate('a lane above its ceiling');
    if (lane.outage) this.#checkRamp(lane.outage, request);
    return lane.open;
  }

  ended(name: string, request: object, ok: boolean): void {
    const lane = this.#lane(name);
    this.#open--;
    if (--lane.open === 0) this.#lanesOpen--;
    if (!lane.outage?.open.delete(request) || !ok || lane.outage.state === 'open') return;
    if (++lane.outage.successes + 1 >= this.bounds.recoveredAt) delete lane.outage;
  }

  circuit(name: string, state: 'open' | 'closed'): void {
    this.#lane(name).outage = {
      state: state === 'open' ? 'open' : 'recovering',
      open: new Set(),
      successes: 0,
    };
  }

  #checkPlaces(lane: LaneSeen): void {
    const { total, reserve } = this.bounds.pool;
    if (this.#open >= total) this.book.violate('more sockets than there are');
    const share = Math.max(1, Math.floor(total / (this.#lanesOpen + 1)));
    if (this.#open >= total - reserve && lane.open >= share) {
      this.book.violate('a lane above its share');
    }
  }

  #checkTurn(lane: LaneSeen, kind: 'fresh' | 'due', { firstWaiting, sharesSockets }: Queued): void {
    // Those whose turn it was may have left without a request, as calls of deleted users do.
    const left = Math.max(0, lane.firstWaiting - firstWaiting);
    lane.firstWaiting = firstWaiting;
    if (firstWaiting === 0 || sharesSockets) lane.ahead = 0;
    else {
      lane.ahead = Math.max(
        0,
        lane.ahead + (kind === 'due' ? DUE_SHARE - 1 - left : -Math.max(1, left)),
      );
    }
    if (lane.ahead > AHEAD) this.book.violate('retries before first attempts');
  }

  #checkRamp({ state, open, successes }: Outage, request: object): void {
    open.add(request);
    if (state === 'open' && open.size > 1) this.book.violate('more than one probe at a time');
    if (state === 'recovering' && open.size > 1 + successes) this.book.violate('above the ramp');
  }

  #lane(name: string): LaneSeen {
    let lane = this.#lanes.get(name);
    if (!lane) this.#lanes.set(name, (lane = { open: 0, ahead: 0, firstWaiting: 0 }));
    return lane;
  }
}
