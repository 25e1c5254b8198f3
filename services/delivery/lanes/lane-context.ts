import { type StallClock } from '../clock/stall-clock';
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
   * The stall clock. If it says `usesWholeCore`, this process is at its limit: more concurrent
   * requests would only slow each other down.
   */
  clock: Pick<StallClock, 'usesWholeCore' | 'stalledMs'>;
  /**
   * jobs that may still be diverted in this tick: when many circuits open together, other lanes
   * must not wait for it
   */
  shedBudget: { left: number };
  /** lanes that wait for a moment rather than a response, and need a tick */
  timed: Set<{ tick(now: number): void }>;
}
