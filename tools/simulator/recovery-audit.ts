import { type CircuitTransition } from '../../services/delivery/lanes/registry';

/**
 * Checks that what waits for a circuit leaves its tier within ten seconds after the circuit closed.
 */

export const BACK_WITHIN_MS = 10_000;
/** By its pace, retry returns at least this many deliveries of a destination in this time. */
const BACK_IN_TIME = 15_000;

/** A process whose circuit opens or closes. */
interface Owner {
  name: string;
  /** Returns since when it has had the deliveries of a key; Infinity: it has not. */
  ownsSince(key: string): number;
  /** when its last standstill ended */
  awakeSince(): number;
}

/** A delivery in a tier. */
interface Waiting {
  destination: string;
  key: string;
  /** hashes of the URLs that have refused it */
  refusedBy: readonly string[];
  sinceMs: number;
}

export class RecoveryAudit {
  /** by destination and delivery */
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  /** of each delivery that waits */
  readonly #destinations = new Map<string, string>();
  /** when each circuit last opened or closed, by process and lane */
  readonly #changedAt = new Map<string, number>();

  constructor(private readonly violate: (what: string) => void) {}

  /** A delivery is stored in a tier, where it waits for a circuit. */
  parked(id: string, waiting: Waiting): void {
    const { destination } = waiting;
    const there = this.#waiting.get(destination) ?? new Map<string, Waiting>();
    this.#waiting.set(destination, there.set(id, waiting));
    this.#destinations.set(id, destination);
  }

  /** It waits no more, or in another way. */
  left(id: string): void {
    const destination = this.#destinations.get(id);
    if (destination === undefined) return;
    this.#destinations.delete(id);
    this.#waiting.get(destination)?.delete(id);
  }

  /**
   * A circuit opens or closes.
   * @returns a check to call when the time to return is over; absent: no promise concerns it
   */
  circuitChanged(
    { endpoint, state }: CircuitTransition,
    process: Owner,
    nowMs: number,
  ): (() => void) | undefined {
    const { lane, hash, destinationId } = endpoint;
    const circuit = `${process.name} ${lane}`;
    this.#changedAt.set(circuit, nowMs);
    const there = this.#waiting.get(destinationId);
    if (state === 'open' || !there || there.size > BACK_IN_TIME) return undefined;
    return () => {
      if (this.#changedAt.get(circuit) !== nowMs || process.awakeSince() > nowMs) return;
      for (const { key, refusedBy, sinceMs } of there.values()) {
        const isMeant = sinceMs <= nowMs && !refusedBy.includes(hash);
        if (isMeant && process.ownsSince(key) <= nowMs) {
          this.violate('waits for a circuit that has closed');
        }
      }
    };
  }
}
