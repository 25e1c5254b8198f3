import { setTimeout as pause } from 'node:timers/promises';

/** Waits that end: a benchmark that hangs says where. */

/** @throws an error that says what was awaited, after `deadlineMs` */
export async function within<T>(what: string, deadlineMs: number, promise: Promise<T>): Promise<T> {
  const cancel = new AbortController();
  const late = pause(deadlineMs, undefined, { signal: cancel.signal }).then(() => {
    throw new Error(`${what} did not happen within ${String(deadlineMs / 1000)} s`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel.abort();
    // Cancelled: nobody waits for it any more.
    late.catch(() => undefined);
  }
}

/** Asks every `everyMs` until the answer is true, at most `deadlineMs`. Returns the last answer. */
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
