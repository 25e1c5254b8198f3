import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findJavaKafka, findKafka } from '../../dev/kafka/kafka-source';
import { kafkaAddress, waitForKafka } from '../../shared/kafka/client/connection';
import { loadSettings } from '../../shared/runtime/settings';
import { giveClassArchive } from './class-archive';
import { makeHistoryFiles } from './history-files';

/**
 * Prepares a test run: its Kafka, and the files of an empty history, which each started system
 * copies. Kafka is the one in KAFKA_BROKERS, or a broker that serves the whole run. Tests use
 * different topic prefixes. Without Kafka the setup throws an error that says what to install.
 */

/**
 * State for the teardown. It is on `globalThis` because jest loads the two files separately, and
 * again for each project.
 */
export interface TestRun {
  stop(): Promise<void>;
}

declare global {
  // Only `var` declares a property of globalThis.
  var waypostTestRun: TestRun | undefined;
}

const READY_MS = 120_000;

/** Runs before the tests of a project; jest calls it. */
export default async function globalSetup(): Promise<void> {
  // Once for all projects.
  if (globalThis.waypostTestRun) return;
  const note = (text: string) => process.stderr.write(`tests: ${text}\n`);
  await giveClasses(note);
  giveQuickWasm();
  const removeFiles = await makeHistoryFiles();
  const stopBroker = await giveKafka(note);
  globalThis.waypostTestRun = {
    stop: async () => {
      removeFiles();
      await stopBroker();
    },
  };
}

/** For the programs that the tests start, and the workers of jest. */
function giveQuickWasm(): void {
  const own = process.env.NODE_OPTIONS ?? '';
  process.env.NODE_OPTIONS = `${own} --require "${join(__dirname, 'quick-wasm.cjs')}"`.trim();
}

/** Makes the start of each JVM cheaper, if Kafka runs on a Java of this machine. */
async function giveClasses(note: (text: string) => void): Promise<void> {
  if (process.env.WAYPOST_KAFKA === 'container') return;
  const kafka = await findJavaKafka(note).catch(() => undefined);
  if (kafka) await giveClassArchive(kafka);
}

async function giveKafka(note: (text: string) => void): Promise<() => Promise<void>> {
  if (process.env.KAFKA_BROKERS) {
    await waitForKafka(kafkaAddress(loadSettings(process.env)), READY_MS);
    return () => Promise.resolve();
  }
  const launch = await findKafka(note);
  const dir = mkdtempSync(join(tmpdir(), 'waypost-test-kafka-'));
  const broker = await launch({
    dir,
    shortLived: true,
    open: true,
    // Every test creates topics: index files are preallocated small, and the log cleaner need not
    // run often.
    properties: { 'log.index.size.max.bytes': '262144', 'log.cleaner.backoff.ms': '500' },
  });
  const stop = async () => {
    delete process.env.KAFKA_BROKERS;
    await broker.discard();
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
