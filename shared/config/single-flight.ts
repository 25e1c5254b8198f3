import { withDeadline } from '../service/async';

/**
 * Shares reads of a log's end among concurrent callers. At most one read runs at a time. A caller never gets the result
 * of a read that began before its call, which may have missed the caller's records.
 */

/** Limit of one read, so that it cannot block the next one. No caller waits longer than this. */
const LOOK_DEADLINE_MS = 10_000;

/**
 * @param look resolves when everything in the log at the time of the call is known
 * @returns a function that waits for the next read, and throws AppError `kafka_unavailable` after its deadline
 */
export function singleFlight(look: (deadlineMs: number) => Promise<void>): (deadlineMs: number) => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const begin = (): Promise<void> => {
    const current = look(LOOK_DEADLINE_MS).finally(() => {
      if (running === current) running = undefined;
    });
    running = current;
    return current;
  };
  const after = async (before: Promise<void>): Promise<void> => {
    // Its own callers handle its failure.
    await before.catch(() => undefined);
    next = undefined;
    return begin();
  };
  return (deadlineMs) => {
    const mine = running ? (next ??= after(running)) : begin();
    return withDeadline(mine, deadlineMs);
  };
}
