import { isAlive, type ProcessId } from '../../shared/runtime/process-id';
import CleanEnvironment from './clean-environment';
import { descendantIds } from './supervised';

/**
 * The environment of test files that start processes. After a file it kills every process that the
 * file left behind: a test or hook that ran out of time has not stopped its processes, and jest
 * would wait for them without end.
 */
export default class ProcessEnvironment extends CleanEnvironment {
  /**
   * Processes of before the file: if jest runs a single file in its own process, the broker of the
   * test run is one.
   */
  #before = new Set<string>();

  override async setup(): Promise<void> {
    await super.setup();
    this.#before = new Set(descendantIds(process.pid).map(nameOf));
  }

  override async teardown(): Promise<void> {
    for (const id of descendantIds(process.pid)) {
      if (!this.#before.has(nameOf(id)) && isAlive(id)) kill(id.pid);
    }
    await super.teardown();
  }
}

function nameOf({ pid, started }: ProcessId): string {
  return `${String(pid)} ${started}`;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
