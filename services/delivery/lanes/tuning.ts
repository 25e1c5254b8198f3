import { type Limits } from '../handler';
import { type LaneOptions } from './lane';
import { type SocketSharesOptions } from './socket-shares';

/** What one delivery process may hold, and what one lane of it. */

const MB = 1024 * 1024;

/** Beyond any of them partitions are paused. */
export const LIMITS: Limits = {
  maxBytes: 128 * MB,
  maxUnacknowledgedBytes: 16 * MB,
};

export const SOCKETS: SocketSharesOptions = {
  // A hung request costs about 17 KB; file descriptors are often limited to some thousands.
  total: 2_000,
  // With a tenth of the sockets free of those that hang, a quiet endpoint finds one at once.
  reserve: 200,
};

/** What waits in lanes: the other half is for what is open, and for outcomes that Kafka has not acknowledged. */
const QUEUED_PART = 1 / 2;
/**
 * Even where tiers are very short, a queue takes what a request may take (else the backlog of a restart goes round
 * through Kafka again and again, which costs more than to deliver it); and never longer than a person would wait.
 */
const LEAST_QUEUE_MS = 5_000;
const MOST_QUEUE_MS = 10_000;

/** Rare enough to be no load for an endpoint in trouble, often enough that its recovery is seen in a second. */
const PROBE_PAUSE_MS = 1_000;
const LONGEST_PAUSE_FACTOR = 10;
/** A receiver that says "in a day" has often made a mistake: one request now and then asks again. */
const LONGEST_HOLD_MS = 900_000;
const LEAST_KEPT_MS = 600_000;

/** @param tiersMs as configured */
export function laneOptions(tiersMs: number[]): LaneOptions {
  const shortest = Math.min(...tiersMs);
  // Where tiers are short (a test's), what comes back from one must find that a probe may go.
  const probePauseMs = Math.min(PROBE_PAUSE_MS, shortest);
  const start = 20;
  return {
    floor: 1,
    // Enough for 200/s at 100 ms, and few enough to hang.
    start,
    // An eighth of the sockets: what one endpoint needs for 2,500/s at 100 ms.
    ceiling: 256,
    circuit: {
      // With five, an endpoint that fails three times in ten was sent away again and again (docs/lab/simulation.md); and a dead
      // one gets no more for it, since what is under way fails together.
      failuresToOpen: 10,
      // Fifty endpoints that began to hang at once held a thousand sockets and all of the CPU when they timed out.
      silentToOpen: 5,
      probePauseMs,
      longestPauseMs: LONGEST_PAUSE_FACTOR * probePauseMs,
      longestHoldMs: LONGEST_HOLD_MS,
      recoveredAt: start,
    },
    maxWaitMs: Math.min(MOST_QUEUE_MS, Math.max(LEAST_QUEUE_MS, shortest)),
    maxQueuedBytes: LIMITS.maxBytes * QUEUED_PART,
  };
}

/** How long an unused lane is remembered: its circuit must outlast the wait of what was parked while it was open. */
export function keepLaneMs(tiersMs: number[]): number {
  return Math.max(LEAST_KEPT_MS, 2 * Math.max(...tiersMs));
}
