import { setTimeout as pause } from 'node:timers/promises';

/** The clock of a measurement, deadlines that report where it hangs, and work at a fixed rate. */

/**
 * Returns milliseconds of the machine's monotonic clock: the same in every process, and finer than
 * Date.
 */
export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

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

/** Timers have this resolution: work that falls due between two ticks starts together. */
const TICK_MS = 1;
const MOST_A_TURN_MS = 5;

/**
 * Starts work at a fixed rate, regardless of its outcome, and waits until all of it has ended.
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
      .catch(
        (error: unknown) => (failure ??= error instanceof Error ? error : new Error(String(error))),
      )
      .finally(ended);
  }
  if (open > 0) await new Promise<void>((resolve) => (allEnded = resolve));
  if (failure) throw failure;
}
