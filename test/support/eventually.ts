/** Waits until a condition holds, in place of sleeps of a guessed length. */

/** An error that waiting cannot mend: `eventually` throws it immediately. */
export class Final extends Error {}

const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 250;

/**
 * Calls `check` until it no longer throws, and returns its result. A check may cost a request, and
 * what takes seconds need not be seen at once: the pause between two is a tenth of the time so far.
 * @param options.everyMs another pause, for what passes quickly
 * @throws the last error of `check` after `deadlineMs` (default 60 s: CI machines are slow), or a
 *   `Final` immediately
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { deadlineMs = 60_000, everyMs }: { deadlineMs?: number; everyMs?: number } = {},
): Promise<T> {
  const since = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (error instanceof Final || Date.now() >= since + deadlineMs) throw error;
    }
    const tenth = (Date.now() - since) / 10;
    const pauseMs = everyMs ?? Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, tenth));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
