import { setTimeout as pause } from 'node:timers/promises';
import { type Look } from '../../shared/kafka/wait-for-kafka';

/**
 * Kafka 4.1 may fail, after a kill, to load the offsets that consumer groups have committed: it says "Failed to load
 * metadata from __consumer_offsets-0 … New last written offset 32773 … must be greater than 41772" once, does not try again,
 * and refuses those groups until it is started anew. Nothing is lost, but nothing moves.
 */

const PAUSE_MS = 1_000;
/** Several times what loading takes. */
const STUCK_AFTER_MS = 45_000;

/**
 * Watches a broker that was started again.
 * @param look one look at it
 * @param ended aborted where it ends
 * @returns whether it answers and has refused groups for so long that only another start will help
 */
export async function isCoordinatorStuck(
  look: () => Promise<Look>,
  ended: AbortSignal,
  { stuckAfterMs = STUCK_AFTER_MS, pauseMs = PAUSE_MS } = {},
): Promise<boolean> {
  let since: number | undefined;
  while (!ended.aborted) {
    const { state } = await look();
    if (state === 'ready') return false;
    // While it recovers its records, or stands still, it does not answer at all: that takes as long as it takes.
    if (state === 'away') since = undefined;
    else since ??= performance.now();
    if (since !== undefined && performance.now() - since >= stuckAfterMs) return !ended.aborted;
    await pause(pauseMs, undefined, { signal: ended }).catch(() => undefined);
  }
  return false;
}
