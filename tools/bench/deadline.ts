import { setTimeout as pause } from 'node:timers/promises';

/** Waits with deadlines: a benchmark that hangs reports where. */

/** @throws an error that names the awaited event, after `deadlineMs` */
export async function within<T>(what: string, deadlineMs: number, promise: Promise<T>): Promise<T> {
  const cancel = new AbortController();
  const late = pause(deadlineMs, undefined, { signal: cancel.signal }).then(() => {
    throw new Error(`${what} did not happen within ${String(deadlineMs / 1000)} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel.abort();
    // The deadline was cancelled.
    late.catch(() => undefined);
  }
}

/**
 * Repeats a check every `everyMs` until it is true, at most for `deadlineMs`.
 * @returns the last result
 */
export async function until(
  check: () => boolean | Promise<boolean>,
  everyMs: number,
  deadlineMs: number,
): Promise<boolean> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    if (await check()) return true;
    if (Date.now() >= end) return false;
    await pause(everyMs);
  }
}
