import './global-setup';

/** Stops and removes what global-setup.ts created, once for all projects. */

/** Runs after the tests of a project; jest calls it. */
export default async function globalTeardown(): Promise<void> {
  const run = globalThis.waypostTestRun;
  globalThis.waypostTestRun = undefined;
  await run?.stop();
}
