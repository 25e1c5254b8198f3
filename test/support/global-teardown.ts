import './global-setup';

/** Stops the broker that global-setup.ts started, once, however many projects were run. */

/** Called by jest after the tests of a project. */
export default async function globalTeardown(): Promise<void> {
  const broker = globalThis.waypostTestBroker;
  if (!broker) return;
  globalThis.waypostTestBroker = undefined;
  delete process.env.KAFKA_BROKERS;
  await broker.stop();
}
