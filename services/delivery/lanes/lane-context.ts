import { type CircuitOptions } from './circuit';
import { type ConcurrencyOptions } from './concurrency-limit';
import { type Queued } from './queued-bytes';
import { type SocketShares } from './socket-shares';

/** The limits of lanes, and the state that all lanes of a process share. */

export interface LaneOptions extends ConcurrencyOptions {
  circuit: CircuitOptions;
  /** longest expected wait of a job in the queue */
  maxWaitMs: number;
  /** memory for the queued bodies of all lanes */
  maxQueuedBytes: number;
}

/** State that all lanes share. */
export interface LaneContext {
  sockets: SocketShares;
  queued: Queued;
  /**
   * True if this process is at its limit: more concurrent requests would only slow each other down.
   */
  usesWholeCore(): boolean;
  /** stall time that the shared clock has left out so far, ms */
  stalledMs(): number;
  /**
   * jobs that may still be diverted in this tick: when many circuits open together, other lanes
   * must not wait for it
   */
  shedBudget: { left: number };
  /** lanes that wait for a moment rather than a response, and need a tick */
  timed: Set<{ tick(now: number): void }>;
}
