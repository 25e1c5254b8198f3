import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from './clock';

/** So many a second, whatever becomes of them. */

/** Timers are no finer: what has fallen due meanwhile is started together. */
const TICK_MS = 1;
const MOST_A_TURN_MS = 5;

/**
 * Starts one after the other by a fixed schedule, and waits for all that were started.
 * @param more asked before each with how many were started
 */
export async function openLoop(
  perSecond: number,
  more: (started: number) => boolean,
  start: () => Promise<void>,
): Promise<void> {
  const intervalMs = 1000 / perSecond;
  const startedAt = clockMs();
  let started = 0;
  let open = 0;
  let allEnded: () => void = () => undefined;
  let failure: Error | undefined;
  const ended = () => {
    if (--open === 0) allEnded();
  };
  let turnAt = startedAt;
  while (!failure && more(started)) {
    const now = clockMs();
    const inMs = startedAt + started * intervalMs - now;
    // Also where it is behind: else nothing that was started would ever get its turn.
    if (inMs > 0 || now - turnAt > MOST_A_TURN_MS) {
      await (inMs > 0 ? pause(Math.max(TICK_MS, inMs)) : new Promise(setImmediate));
      turnAt = clockMs();
      continue;
    }
    started++;
    open++;
    start()
      .catch((error: unknown) => (failure ??= error instanceof Error ? error : new Error(String(error))))
      .finally(ended);
  }
  if (open > 0) await new Promise<void>((resolve) => (allEnded = resolve));
  if (failure) throw failure;
}
