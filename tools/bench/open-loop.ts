import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from './clock';

/** Starts work at a fixed rate, regardless of its outcome. */

/** Timers have this resolution: work that falls due between two ticks starts together. */
const TICK_MS = 1;
const MOST_A_TURN_MS = 5;

/**
 * Starts work on a fixed schedule, and waits until all of it has ended.
 * @param more called before each start with the number started
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
    // Yield even when late: otherwise the started work would get no turn.
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
