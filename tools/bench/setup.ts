import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, logLevel } from 'kafkajs';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { findKafka } from '../../dev/kafka/kafka-source';
import { type ProcessName } from '../../bin/service-list';
import { messageOf } from '../../shared/runtime/errors';
import { Endpoint } from '../harness/endpoint';
import {
  type RunningServices,
  startServices,
  type SystemEnv,
  systemEnv,
} from '../harness/services';
import { sum } from './arithmetic';
import { PROFILE_DIR, PROFILE_MAIN } from './profile';

/** The resources of a run: a folder, a broker, a receiver; and one system after the other. */

const READY_MS = 90_000;

/** The resources that all benchmarks of a run share: a folder, a broker, a receiver. */
export interface Bench {
  dir: string;
  broker: BenchBroker;
  endpoint: Endpoint;
  /** Returns the settings of a new system, whose topics have a prefix that no earlier one had. */
  newSystem(name: string): Promise<SystemEnv>;
  stop(): Promise<void>;
}

/**
 * @param profileDir folder of the CPU profiles that services write at their end
 * @param note receives the name of each slow step
 */
export async function setUp(
  profileDir: string | undefined,
  note: (text: string) => void,
): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-bench-'));
  let broker: BenchBroker;
  try {
    broker = await startBroker(dir, note);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  const endpoint = await Endpoint.start();
  let systems = 0;
  const profile = profileDir && {
    NODE_OPTIONS: `--require ${PROFILE_MAIN}`,
    [PROFILE_DIR]: profileDir,
  };
  // A later start of an installation finds the compiled code of the first one.
  const env = { NODE_COMPILE_CACHE: join(dir, 'compile-cache'), ...profile };
  return {
    dir,
    broker,
    endpoint,
    newSystem: (name) => {
      const prefix = `${name}-${String(++systems)}.`;
      return systemEnv({ broker: broker.address, dir: join(dir, prefix), prefix, env });
    },
    stop: async () => {
      endpoint.stop();
      await broker.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * A Kafka for the benchmark alone, started as by `npm start`, so that its CPU time can be measured
 * separately.
 */
interface BenchBroker {
  address: string;
  /** 0 if it runs in a container */
  pid: number;
  /**
   * the folder of its records, with a folder for each partition; undefined if it runs in a
   * container
   */
  folder: string | undefined;
  /**
   * Returns the number of records in all partitions of a topic, full name; 0 if the topic does not
   * exist.
   */
  records(topic: string): Promise<number>;
  /**
   * Returns the number of records in the topics of a system, selected by their names without its
   * prefix.
   */
  recordsIn(prefix: string, wanted: (topic: string) => boolean): Promise<number>;
  /**
   * Deletes all topics with a prefix, so that a benchmark does not carry the records and partitions
   * of earlier ones. If that fails, the next ones cost a little more. The reason of a failed
   * benchmark matters more, so the error is ignored.
   */
  forget(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param note receives the name of each slow step */
async function startBroker(dir: string, note: (text: string) => void): Promise<BenchBroker> {
  const launch = await findKafka(note);
  const broker = await launch({ dir: join(dir, 'kafka'), open: true });
  let admin: Admin;
  try {
    await broker.ready(READY_MS);
    admin = kafkajsClient({
      brokers: [broker.address],
      clientId: 'waypost-bench',
      logLevel: logLevel.NOTHING,
    }).admin();
    await admin.connect();
  } catch (error) {
    await broker.discard();
    throw error;
  }
  const topicsOf = async (prefix: string) =>
    (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
  const records = async (topic: string) => {
    const partitions = await admin.fetchTopicOffsets(topic);
    return sum(partitions.map(({ high, low }) => Number(high) - Number(low)));
  };
  return {
    address: broker.address,
    pid: broker.pid ?? 0,
    folder: broker.pid === undefined ? undefined : join(dir, 'kafka', 'records'),
    records,
    recordsIn: async (prefix, wanted) => {
      const topics = (await topicsOf(prefix)).filter((topic) => wanted(topic.slice(prefix.length)));
      return sum(await Promise.all(topics.map(records)));
    },
    forget: async (prefix) => {
      try {
        const topics = await topicsOf(prefix);
        if (topics.length > 0) await admin.deleteTopics({ topics });
      } catch (error) {
        note(`the topics of ${prefix} are still there: ${messageOf(error)}`);
      }
    },
    stop: async () => {
      await admin.disconnect();
      await broker.discard();
    },
  };
}

/** A running system. */
export interface Running {
  system: SystemEnv;
  services: RunningServices;
  /** of the services, the broker, the receiver and this process */
  pids: Record<string, number>;
}

/**
 * Starts services on separate topics, waits until they are ready, and stops everything even if
 * `use` fails.
 * @param options.env more settings
 * @param options.before runs before the services start, to prepare their data
 */
export async function withSystem<T>(
  bench: Bench,
  options: {
    name: string;
    services: readonly ProcessName[];
    env?: Record<string, string>;
    before?: (system: SystemEnv) => Promise<void>;
  },
  use: (running: Running) => Promise<T>,
): Promise<T> {
  const { broker, endpoint } = bench;
  const plain = await bench.newSystem(options.name);
  const system = { ...plain, env: { ...plain.env, ...options.env } };
  try {
    await options.before?.(system);
    const services = await startServices(system, options.services);
    try {
      await services.ready();
      const pids = {
        ...services.pids,
        broker: broker.pid,
        receiver: endpoint.pid,
        bench: process.pid,
      };
      return await use({ system, services, pids });
    } finally {
      await services.stop();
    }
  } finally {
    await broker.forget(system.prefix);
  }
}
