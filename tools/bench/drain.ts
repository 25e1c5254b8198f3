import { setTimeout as pause } from 'node:timers/promises';
import { type Kafka } from '../../shared/kafka/port';
import { cpuBetween, type CpuReading, type CpuUse, readCpu } from '../harness/usage';
import { sum } from './arithmetic';

/**
 * Measures how services empty topics that were filled before their start, by the offsets that their
 * groups commit.
 */

/** Groups commit ten times a second. */
const POLL_MS = 50;
/** A longer standstill is a failure. */
const STILL_MS = 120_000;

/**
 * Messages after the last measured one: at both ends the same number is in progress and not
 * committed.
 */
export const BEYOND = 3_000;

/** The work done up to a time, and the CPU that the processes had used. */
export interface Mark {
  count: number;
  cpu: CpuReading;
}

/** The work done between two marks. */
export interface DrainFigure {
  count: number;
  perSecond: number;
  cpu: CpuUse;
}

/** A drain in progress, and its processes. */
export interface Drain {
  /** description */
  what: string;
  done: () => Promise<number>;
  pids: Readonly<Record<string, number>>;
}

/** Returns the number of records that a group has committed, of a topic without deleted records. */
export async function committedBy(
  kafka: Pick<Kafka, 'committed'>,
  group: string,
  topic: string,
): Promise<number> {
  return sum(await kafka.committed(group, topic));
}

/**
 * Waits until this many are done; a few more may be done by then.
 * @param onCount receives the count of each check
 * @throws if none were done for two minutes
 */
export async function drained(
  drain: Drain,
  count: number,
  onCount?: (count: number) => void,
): Promise<Mark> {
  const { what, done, pids } = drain;
  let [last, changedAt] = [-1, Date.now()];
  for (;;) {
    const cpu = readCpu(pids);
    const now = await done();
    if (now >= count) return { count: now, cpu };
    if (now !== last) [last, changedAt] = [now, Date.now()];
    if (Date.now() - changedAt > STILL_MS) {
      throw new Error(`${what} has stopped at ${String(now)}`);
    }
    onCount?.(now);
    await pause(POLL_MS);
  }
}

/** Pure. */
export function drainBetween(from: Mark, to: Mark): DrainFigure {
  const cpu = cpuBetween(from.cpu, to.cpu);
  const count = to.count - from.count;
  return { count, perSecond: count / cpu.seconds, cpu };
}
