import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKafka } from '../../deploy/standalone/kafka-source';
import { kafkaAddress } from '../../shared/kafka/connection-settings';
import { waitForKafka } from '../../shared/kafka/wait-for-kafka';
import { loadSettings } from '../../shared/service/settings';
import { makeHistoryFiles } from './history-files';

/**
 * Gives a test run its Kafka: the one in KAFKA_BROKERS, else one broker in a folder of its own for the whole run. Tests
 * keep apart by topic prefix. There is no run without Kafka: where none can be had this throws, and says what to install.
 * And the files of an empty history, for the systems that are started to have copies of.
 */

/** What the teardown needs; on `globalThis` since jest loads the two files, and each project's, apart. */
export interface TestRun {
  stop(): Promise<void>;
}

declare global {
  // `var` is what declares a property of globalThis.
  var waypostTestRun: TestRun | undefined;
}

const READY_MS = 120_000;

/** Called by jest before the tests of a project. */
export default async function globalSetup(): Promise<void> {
  // Once, however many projects are run.
  if (globalThis.waypostTestRun) return;
  const removeFiles = await makeHistoryFiles();
  const stopBroker = await giveKafka();
  globalThis.waypostTestRun = {
    stop: async () => {
      removeFiles();
      await stopBroker();
    },
  };
}

async function giveKafka(): Promise<() => Promise<void>> {
  if (process.env.KAFKA_BROKERS) {
    await waitForKafka(kafkaAddress(loadSettings(process.env)), READY_MS);
    return () => Promise.resolve();
  }
  const launch = await findKafka((text) => process.stderr.write(`tests: ${text}\n`));
  const dir = mkdtempSync(join(tmpdir(), 'waypost-test-kafka-'));
  const broker = await launch({
    dir,
    shortLived: true,
    // Each test makes topics of its own: small preallocated files, and nothing of it needs to be swept up.
    properties: { 'log.index.size.max.bytes': '262144', 'log.cleaner.backoff.ms': '500' },
  });
  const stop = async () => {
    delete process.env.KAFKA_BROKERS;
    // Its records are thrown away: there is no reason to wait until it has written them.
    await broker.stop(2_000);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await broker.ready(READY_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  process.env.KAFKA_BROKERS = broker.address;
  return stop;
}
