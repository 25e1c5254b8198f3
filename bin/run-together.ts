import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { HostProcess } from '../shared/runtime/host-process';
import { ROOT } from '../shared/runtime/repo-root';
import type * as Run from '../shared/runtime/run';
import { serviceMain, type ServiceName } from './service-list';

/**
 * Runs several services in this process. Each service gets its own copy of Waypost's modules, as in
 * a separate process. So the metrics, clocks and windows of a module belong to one service. They
 * share the packages, the heap and the thread.
 */

/** Waypost's own modules; packages are outside of it. */
const OWN = join(ROOT, 'dist') + sep;
const load = createRequire(__filename);

/** Starts these services. The first that fails ends the process. */
export function runTogether(names: readonly ServiceName[]): void {
  const host = new HostProcess(names);
  for (const name of names) {
    withOwnModules(() => {
      const { shareProcess } = load('../shared/runtime/run') as typeof Run;
      shareProcess(host);
      load(serviceMain(name));
    });
  }
}

/** Loads new copies of modules, and restores the modules of this process afterwards. */
function withOwnModules(loadAll: () => void): void {
  const before = takeOwn();
  try {
    loadAll();
  } finally {
    takeOwn();
    Object.assign(load.cache, before);
  }
}

/** Removes Waypost's modules from the cache. */
function takeOwn(): NodeJS.Dict<NodeJS.Module> {
  const own = Object.entries(load.cache).filter(([file]) => file.startsWith(OWN));
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- Node's cache is an object
  for (const [file] of own) delete load.cache[file];
  return Object.fromEntries(own);
}
