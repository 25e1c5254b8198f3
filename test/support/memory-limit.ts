import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';

/** A memory limit by cgroup, as a container has: the kernel kills a process that exceeds it. */
export interface MemoryLimit {
  /**
   * a command that runs its arguments within the limit; empty if this machine allows no new cgroup
   */
  command: string[];
  remove(): void;
}

/** @param bytes limit of all memory of the processes, page cache included */
export function limitMemory(bytes: number): MemoryLimit {
  const name = `waypost-test-${randomUUID().slice(0, 8)}`;
  for (const [root, file] of [
    ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
    ['/sys/fs/cgroup', 'memory.max'],
  ] as const) {
    const folder = `${root}/${name}`;
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    try {
      writeFileSync(`${folder}/${file}`, String(bytes));
      const command = ['sh', '-c', 'echo $$ > "$0" && exec "$@"', `${folder}/cgroup.procs`];
      return { command, remove: () => rmdirSync(folder) };
    } catch {
      rmdirSync(folder);
    }
  }
  return { command: [], remove: () => undefined };
}
