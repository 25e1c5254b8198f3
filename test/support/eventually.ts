/** Waits until a condition holds, in place of sleeps of a guessed length. */

/** An error that waiting cannot mend: `eventually` throws it immediately. */
export class Final extends Error {}

/**
 * Calls `check` until it no longer throws, and returns its result.
 * @throws the last error of `check` after `deadlineMs` (default 60 s: CI machines are slow), or a
 *   `Final` immediately
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { deadlineMs = 60_000, everyMs = 50 }: { deadlineMs?: number; everyMs?: number } = {},
): Promise<T> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (error instanceof Final || Date.now() >= until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
