import './global-setup';

/** Stops and removes what global-setup.ts made, once, however many projects were run. */

/** Called by jest after the tests of a project. */
export default async function globalTeardown(): Promise<void> {
  const run = globalThis.waypostTestRun;
  globalThis.waypostTestRun = undefined;
  await run?.stop();
}
