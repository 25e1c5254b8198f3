import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHORT_LIVED } from '../../dev/kafka/broker-config';
import { findKafka } from '../../dev/kafka/kafka-source';
import { kafkaAddress, waitForKafka } from '../../shared/kafka/client/connection';
import { loadSettings } from '../../shared/runtime/settings';
import giveEmptyDatabase from './empty-database';

/**
 * Prepares a test run: its Kafka, and the archive of an empty history, which each started system
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
  giveQuickWasm();
  giveQuickJava();
  const [stop] = await Promise.all([giveKafka(), giveEmptyDatabase()]);
  globalThis.waypostTestRun = { stop };
}

/** For the programs that the tests start, and the workers of jest. */
function giveQuickWasm(): void {
  const own = process.env.NODE_OPTIONS ?? '';
  process.env.NODE_OPTIONS = `${own} --require "${join(__dirname, 'quick-wasm.cjs')}"`.trim();
}

/**
 * For all brokers that the tests start without a container. Each lives for a minute or two, in
 * which the optimizing compiler of a JVM takes more CPU than its code saves.
 */
function giveQuickJava(): void {
  process.env.JDK_JAVA_OPTIONS = `${process.env.JDK_JAVA_OPTIONS ?? ''} ${SHORT_LIVED}`.trim();
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
    open: true,
    // Every test creates topics, whose index files are preallocated.
    properties: { 'log.index.size.max.bytes': '262144' },
  });
  const stop = async () => {
    delete process.env.KAFKA_BROKERS;
    await broker.discard();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await broker.ready(READY_MS);
    // Many tests start brokers of their own.
    await broker.archiveClasses(true);
  } catch (error) {
    await stop();
    throw error;
  }
  process.env.KAFKA_BROKERS = broker.address;
  return stop;
}
