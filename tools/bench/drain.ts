import { setTimeout as pause } from 'node:timers/promises';
import { type Kafka } from '../../shared/kafka/port';
import { sum } from './arithmetic';
import { type CpuReading, type CpuUse, cpuBetween, readCpu } from './cpu';

/** How services empty topics that were filled before they started: by the offsets that their groups commit. */

/** They are committed ten times a second. */
const POLL_MS = 50;
/** Without any progress something is wrong. */
const STILL_MS = 120_000;

/** Messages behind the last one that is measured: at both ends as many are under way that are not committed. */
export const BEYOND = 3_000;

/** What was done by a moment, and what the processes had used by then. */
export interface Mark {
  count: number;
  cpu: CpuReading;
}

/** What was done between two marks. */
export interface DrainFigure {
  count: number;
  perSecond: number;
  cpu: CpuUse;
}

/** What is being done, and by whom. */
export interface Drain {
  /** in words */
  what: string;
  done: () => Promise<number>;
  pids: Readonly<Record<string, number>>;
}

/** Records that a group has committed, of a topic none of whose records was deleted. */
export async function committedBy(kafka: Pick<Kafka, 'committed'>, group: string, topic: string): Promise<number> {
  return sum(await kafka.committed(group, topic));
}

/**
 * Waits until so many are done; it may be a little more by then.
 * @param onCount told of each look
 * @throws where no more were done for two minutes
 */
export async function drained(drain: Drain, count: number, onCount?: (count: number) => void): Promise<Mark> {
  const { what, done, pids } = drain;
  let cpu = readCpu(pids);
  const look = () => {
    cpu = readCpu(pids);
    return done();
  };
  const last = await watched({ what, look, until: (now) => now >= count, onCount });
  return { count: last, cpu };
}

/** Looks again and again. @returns the count at which it was so. @throws where the count has stood still for two minutes */
export async function watched(options: {
  what: string;
  look: () => number | Promise<number>;
  until: (count: number) => boolean | Promise<boolean>;
  onCount?: ((count: number) => void) | undefined;
}): Promise<number> {
  const { what, look, until, onCount } = options;
  let [last, changedAt] = [-1, Date.now()];
  for (;;) {
    const count = await look();
    if (await until(count)) return count;
    if (count !== last) [last, changedAt] = [count, Date.now()];
    if (Date.now() - changedAt > STILL_MS) throw new Error(`${what} has stopped at ${String(count)}`);
    onCount?.(count);
    await pause(POLL_MS);
  }
}

/** Pure. */
export function drainBetween(from: Mark, to: Mark): DrainFigure {
  const cpu = cpuBetween(from.cpu, to.cpu);
  const count = to.count - from.count;
  return { count, perSecond: count / cpu.seconds, cpu };
}
