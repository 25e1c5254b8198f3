import { ApiProblem } from '../../shared/api/client';
import { backoff, sleep } from '../../shared/runtime/async';
import { type Session } from '../command';
import { CliError } from '../process-context';

/** Lets a command that follows something outlast a restart of control. */

export const FIRST_PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 5_000;
/** Longer than a restart of control. */
const AWAY_MS = 60_000;

/**
 * Returns whether a call can succeed later: control restarts or is overloaded, or a proxy in front
 * of it cannot reach it.
 */
export function mayPass({ cause }: CliError): boolean {
  if (!(cause instanceof ApiProblem)) return true;
  return cause.status >= 500 || cause.status === 429 || cause.status === 408;
}

/**
 * Reads something, again while control is away.
 * @returns undefined on Ctrl-C while control is away
 * @throws CliError if it would fail the same way again, or control stays away for a minute
 */
export async function readAgain<T>(
  { print, world }: Session,
  read: () => Promise<T>,
): Promise<T | undefined> {
  const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) =>
    sleep(ms, { signal: world.stop }),
  );
  for (let awayAt: number | undefined; ;) {
    try {
      const found = await read();
      if (awayAt !== undefined) print.note('Control is back.');
      return found;
    } catch (error) {
      if (!(error instanceof CliError) || !mayPass(error)) throw error;
      if (world.stop.aborted) return undefined;
      if (awayAt === undefined) print.note(`${error.message} Trying again for a minute.`);
      awayAt ??= performance.now();
      if (performance.now() - awayAt > AWAY_MS) throw error;
      await retry.pause();
    }
  }
}
