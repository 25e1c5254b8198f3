import { type Limits } from './handler';
import { type LaneOptions } from './lane';

/** What one delivery process may hold, and what one lane of it. */

const MB = 1024 * 1024;

/** Beyond any of them partitions are paused. */
export const LIMITS: Limits = {
  maxBytes: 128 * MB,
  // A hung request costs about 17 KB; file descriptors are often limited to some thousands.
  maxSockets: 2_000,
  maxUnacknowledgedBytes: 16 * MB,
};

/** No lane may hold more than this part of the memory: what is full for one must leave room for the others. */
const LANE_SHARE = 1 / 8;
/** A queue is worth having even where tiers are very short, and never longer than a person would wait. */
const LEAST_QUEUE_MS = 1_000;
const MOST_QUEUE_MS = 10_000;

/** @param tiersMs as configured */
export function laneOptions(tiersMs: number[]): LaneOptions {
  return {
    floor: 1,
    start: 20,
    ceiling: 64,
    maxWaitMs: Math.min(MOST_QUEUE_MS, Math.max(LEAST_QUEUE_MS, Math.min(...tiersMs))),
    maxQueuedBytes: LIMITS.maxBytes * LANE_SHARE,
  };
}
