import { withDeadline } from '../service/async';

/**
 * Shares one look at the end of a log among many callers. At most one look runs at a time, and nobody is answered by a
 * look that began before they asked: it may have missed what they ask for.
 */

/** A look that does not come back must not hold up the next one for ever; no caller waits longer than this. */
const LOOK_DEADLINE_MS = 10_000;

/**
 * @param look resolves when all that was in the log when it began is known
 * @returns a function that waits for the next look, and throws AppError `kafka_unavailable` after its deadline
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
    // How the look before ended is the business of those who waited for it.
    await before.catch(() => undefined);
    next = undefined;
    return begin();
  };
  return (deadlineMs) => {
    const mine = running ? (next ??= after(running)) : begin();
    return withDeadline(mine, deadlineMs);
  };
}
