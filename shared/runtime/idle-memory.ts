import { Script } from 'node:vm';

const EVERY_MS = 30_000;

/**
 * Lets V8 return the memory of this thread once it has little to do. V8 collects all objects, in
 * small steps, once a thread allocates little. Node 24 and 26 measure this also on a heap that only
 * `node:vm` uses, and take no allocation there for the highest rate, so that they keep up to 32 MB
 * of free pages for good (https://github.com/nodejs/node/issues/66564). An empty script now and
 * then is an allocation there.
 */
export function returnIdleMemory(): void {
  const allocate = () => new Script('');
  allocate();
  setInterval(allocate, EVERY_MS).unref();
}
