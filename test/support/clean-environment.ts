import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/**
 * The environment of a test file, which leaves no asynchronous storage behind. Jest runs each
 * file's tests in a storage of its own and keeps it. Until Node 24 every promise passes every
 * storage that was ever used: a worker that has run a hundred files would be a hundred times slower
 * at promises than a new one.
 */

const used = new Set<AsyncLocalStorage<unknown>>();
const { prototype } = AsyncLocalStorage;
for (const method of ['run', 'enterWith'] as const) {
  // The module is Node's own, which the sandboxes of all files share.
  const original = prototype[method] as (
    this: AsyncLocalStorage<unknown>,
    ...args: unknown[]
  ) => unknown;
  Object.assign(prototype, {
    [method](this: AsyncLocalStorage<unknown>, ...args: unknown[]) {
      used.add(this);
      return original.apply(this, args);
    },
  });
}

export default class CleanEnvironment extends TestEnvironment {
  override async teardown(): Promise<void> {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
