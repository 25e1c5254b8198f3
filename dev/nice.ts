import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { messageOf } from '../shared/runtime/errors';

/**
 * CPU priorities for processes that compete for the cores of one machine: a low-priority process
 * gets a tenth of a share under load, and all it needs on an idle machine.
 */

/** Ten steps of 1.25 each: a tenth of the weight. */
const STEPS = 10;

/**
 * Moves each thread of a process ten steps down: one that is below the others stays below. Linux
 * weighs each thread separately, but with autogroup scheduling (usually on) it weighs sessions
 * first: without the session's weight, the priorities of threads count only within the session.
 * @param pid leads its own session
 * @returns why it failed, otherwise undefined; nothing depends on it
 */
export function lowerPriority(pid: number): string | undefined {
  try {
    for (const thread of threadsOf(pid)) {
      setPriority(thread, Math.min(constants.priority.PRIORITY_LOW, getPriority(thread) + STEPS));
    }
    const session = `/proc/${String(pid)}/autogroup`;
    if (existsSync(session)) writeFileSync(session, String(STEPS));
    return undefined;
  } catch (error) {
    // It has ended, or the system does not allow it.
    return messageOf(error);
  }
}

/** On Linux a priority belongs to a thread; elsewhere to the process. */
function threadsOf(pid: number): number[] {
  const tasks = `/proc/${String(pid)}/task`;
  return existsSync(tasks) ? readdirSync(tasks).map(Number) : [pid];
}
