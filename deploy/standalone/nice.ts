import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { messageOf } from '../../shared/service/errors';

/**
 * Who goes first where the processes of one machine want more than its cores have: a tenth of a share for who gives way,
 * and everything where nobody else wants it.
 */

/** Ten steps of 1.25 each: a tenth of the weight. */
const STEPS = 10;

/**
 * Puts a process behind all others. Linux weighs threads, each by itself, and, where its desktop's scheduling is on (it
 * mostly is), first of all sessions: without the session's own weight the threads' would count among themselves alone.
 * @param pid leads a session of its own
 * @returns why it could not be done, else undefined; nothing depends on it
 */
export function lowerPriority(pid: number): string | undefined {
  const least = Math.min(constants.priority.PRIORITY_LOW, getPriority() + STEPS);
  try {
    for (const thread of threadsOf(pid)) if (getPriority(thread) < least) setPriority(thread, least);
    const session = `/proc/${String(pid)}/autogroup`;
    if (existsSync(session)) writeFileSync(session, String(STEPS));
    return undefined;
  } catch (error) {
    // It has ended, or the system does not allow it.
    return messageOf(error);
  }
}

/** On Linux a priority is a thread's; elsewhere the process's. */
function threadsOf(pid: number): number[] {
  const tasks = `/proc/${String(pid)}/task`;
  return existsSync(tasks) ? readdirSync(tasks).map(Number) : [pid];
}
