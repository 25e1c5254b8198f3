/** Measures work by CPU time. */

/** Node has it from 24 on. */
interface ThreadClock {
  threadCpuUsage?: () => NodeJS.CpuUsage;
}

/**
 * Returns the CPU time that this thread has used, in ms, or before Node 24 the process. Unlike
 * other clocks it stands still while a busy machine runs others, so the same work counts the same.
 */
export function cpuMs(): number {
  const { user, system } = (process as ThreadClock).threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}
