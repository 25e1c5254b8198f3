import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKafka } from '../../deploy/local/kafka-source';
import { kafkaAddress } from '../../shared/kafka/address';
import { waitForKafka } from '../../shared/kafka/ready';
import { loadSettings } from '../../shared/settings';

/**
 * Gives a test run its Kafka: the one in KAFKA_BROKERS, else one broker in a folder of its own for the whole run. Tests
 * keep apart by topic prefix. There is no run without Kafka: where none can be had this throws, and says what to install.
 */

/** What the teardown needs; on `globalThis` since jest loads the two files, and each project's, apart. */
export interface TestBroker {
  stop(): Promise<void>;
}

declare global {
  // `var` is what declares a property of globalThis.
  var waypostTestBroker: TestBroker | undefined;
}

const READY_MS = 60_000;

/** Called by jest before the tests of a project. */
export default async function globalSetup(): Promise<void> {
  if (process.env.KAFKA_BROKERS) {
    await waitForKafka(kafkaAddress(loadSettings(process.env)), READY_MS);
    return;
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
  globalThis.waypostTestBroker = { stop };
  process.env.KAFKA_BROKERS = broker.address;
}
