import { sleep } from '../../shared/runtime/async';
import { type KafkaProbe } from '../../shared/kafka/client/connection';

/**
 * After a kill, Kafka 4.1 may fail to load the committed offsets of consumer groups: it logs
 * "Failed to load metadata from __consumer_offsets-0 … New last written offset 32773 … must be
 * greater than 41772" once, does not try again, and refuses those groups until it restarts. No
 * record is lost, but none moves.
 */

const PAUSE_MS = 1_000;
/** Several times the duration of a load. */
const STUCK_AFTER_MS = 45_000;

/**
 * Watches a restarted broker.
 * @param probe checks the broker once
 * @param ended aborted when the broker ends
 * @returns whether it responds but has refused groups for so long that only another start will help
 */
export async function isCoordinatorStuck(
  probe: () => Promise<KafkaProbe>,
  ended: AbortSignal,
  { stuckAfterMs = STUCK_AFTER_MS, pauseMs = PAUSE_MS } = {},
): Promise<boolean> {
  let since: number | undefined;
  while (!ended.aborted) {
    const { state } = await probe();
    if (state === 'ready') return false;
    // A broker that recovers its records, or is frozen, does not respond at all, for as long as
    // that takes.
    if (state === 'away') since = undefined;
    else since ??= performance.now();
    if (since !== undefined && performance.now() - since >= stuckAfterMs) return !ended.aborted;
    await sleep(pauseMs, { signal: ended });
  }
  return false;
}
