import { LONGEST_ASKED_MS } from '../../shared/model/schedule';
import { type ProcessLimits } from '../../shared/runtime/process-limits';
import { type Limits } from './deliverer';
import { type LaneOptions } from './lanes/lane-context';
import { type SocketSharesOptions } from './lanes/socket-shares';

/** The limits of one delivery process and of one lane. */

const MB = 1024 * 1024;

/** Partitions are paused beyond any of them. */
export const LIMITS: Limits = {
  maxBytes: 128 * MB,
  maxUnacknowledgedBytes: 16 * MB,
};

export const SOCKETS: SocketSharesOptions = {
  // A hung request costs about 17 KB, and file descriptors are often limited to some thousands.
  total: 2_000,
  // A tenth of the sockets stays free of hanging requests, so that a quiet endpoint gets one
  // immediately.
  reserve: 200,
};

/**
 * Idle connections that a process may keep, so that an endpoint with few webhooks needs no
 * handshake for each.
 */
const IDLE = { least: 100, most: 10_000 };
/**
 * A kept TLS connection takes 66 KB, and all of them together at most a sixteenth of the memory.
 */
const IDLE_BYTES = 66 * 1000;
const IDLE_PART = 1 / 16;
/** Files for anything but endpoints: brokers, probes, logs. */
const OTHER_FILES = 200;

/**
 * Returns how many connections may be open, in use or idle. Beyond it, the least recently used idle
 * one is closed.
 */
export function mostConnections({
  memoryBytes,
  openFiles,
}: Pick<ProcessLimits, 'memoryBytes' | 'openFiles'>): number {
  const idle = Math.min(
    IDLE.most,
    (memoryBytes * IDLE_PART) / IDLE_BYTES,
    openFiles - OTHER_FILES - SOCKETS.total,
  );
  return SOCKETS.total + Math.floor(Math.max(IDLE.least, idle));
}

/**
 * Part of the memory for jobs queued in lanes: the other half is for open requests and
 * unacknowledged records.
 */
const QUEUED_PART = 1 / 2;
/**
 * Even with very short tiers, a queue holds a job for as long as a request may take: otherwise the
 * backlog of a restart would circle through Kafka, which costs more than delivering it. It never
 * holds one longer than a person would wait.
 */
const LEAST_QUEUE_MS = 5_000;
const MOST_QUEUE_MS = 10_000;

/**
 * Rare enough to put no load on an endpoint in trouble, and frequent enough to notice a recovery
 * within a second.
 */
const PROBE_PAUSE_MS = 1_000;
const LONGEST_PAUSE_FACTOR = 10;
const LEAST_KEPT_MS = 600_000;

/** @param tiersMs as configured */
export function laneOptions(tiersMs: number[]): LaneOptions {
  const shortest = Math.min(...tiersMs);
  // With short tiers (in tests), a delivery that returns from one must find that a probe is
  // allowed.
  const probePauseMs = Math.min(PROBE_PAUSE_MS, shortest);
  const start = 20;
  return {
    floor: 1,
    // Enough for 200/s at 100 ms, and few enough to hang.
    start,
    // An eighth of the sockets: enough for 2,500/s to one endpoint at 100 ms. 512 would halve the
    // time of a burst, and let four hanging endpoints take all sockets.
    ceiling: 256,
    circuit: {
      // With five, deliveries to an endpoint that fails three times in ten were diverted again and
      // again. A dead one gets no more requests with ten, since concurrent ones fail together.
      failuresToOpen: 10,
      // When fifty endpoints began to hang together, they held a thousand sockets, and took all of
      // the CPU when they timed out.
      silentToOpen: 5,
      probePauseMs,
      longestPauseMs: LONGEST_PAUSE_FACTOR * probePauseMs,
      longestHoldMs: LONGEST_ASKED_MS,
      recoveredAt: start,
    },
    maxWaitMs: Math.min(MOST_QUEUE_MS, Math.max(LEAST_QUEUE_MS, shortest)),
    maxQueuedBytes: LIMITS.maxBytes * QUEUED_PART,
  };
}

/**
 * Returns how long an unused lane is kept: its circuit must outlast the wait of deliveries parked
 * while it was open.
 */
export function keepLaneMs(tiersMs: number[]): number {
  return Math.max(LEAST_KEPT_MS, 2 * Math.max(...tiersMs));
}
