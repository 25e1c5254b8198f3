import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findJavaKafka } from '../../dev/kafka/kafka-source';
import {
  brokerProperties,
  javaArguments,
  loggingProperties,
  propertiesText,
  SHORT_LIVED,
} from '../../dev/kafka/broker-config';
import { type ClassArchive, classArchive } from '../../dev/kafka/class-archive';
import { startDyingWithParent } from '../../dev/die-with-parent';
import { type RunningProcess } from '../../dev/child-process';
import { freePorts } from '../../test/support/free-port';
import { waitForKafka } from '../../shared/kafka/client/connection';

/**
 * A cluster of KRaft nodes, each broker and controller, from the same jars as the embedded broker.
 */
export interface Cluster {
  /** host:port, separated by commas */
  brokers: string;
  nodes: readonly Node[];
  stop: () => Promise<void>;
}

export interface Node {
  /** node.id: 1, 2, … */
  id: number;
  /** host:port */
  address: string;
  /** the folder of its logs */
  records: string;
  /** undefined while it is down */
  pid: number | undefined;
  start(): Promise<void>;
  /** Returns the leader of the controllers in this node's view, and its epoch. */
  quorum(): { leaderId: number; epoch: number } | undefined;
}

interface Place {
  dir: string;
  java: string;
  jars: string;
  archive: ClassArchive;
  clusterId: string;
  ports: { broker: number; controller: number }[];
}

const READY_MS = 120_000;
const STOP_MS = 5_000;
const run = promisify(execFile);

/** Formats the folders and starts all nodes. */
export async function startCluster(dir: string, size: number): Promise<Cluster> {
  const { java, jars } = await findJavaKafka((text) => process.stderr.write(`chaos: ${text}\n`));
  const free = await freePorts(2 * size);
  const ports = Array.from({ length: size }, (_, i) => ({
    broker: free[2 * i] ?? 0,
    controller: free[2 * i + 1] ?? 0,
  }));
  const clusterId = `A${randomBytes(16).toString('base64url').slice(1)}`;
  const archive = await classArchive(java, jars);
  const place: Place = {
    dir,
    java,
    jars,
    archive,
    clusterId,
    ports,
  };
  const running = new Map<number, RunningProcess>();
  const nodes = ports.map((_, i) => makeNode(place, i + 1, running));
  const brokers = ports.map(({ broker }) => `127.0.0.1:${broker}`);
  const stop = async () => {
    await Promise.all([...running.values()].map((program) => program.stop(STOP_MS)));
  };
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await waitForKafka({ brokers }, READY_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { brokers: brokers.join(','), nodes, stop };
}

function makeNode(place: Place, id: number, running: Map<number, RunningProcess>): Node {
  const dir = join(place.dir, `node-${id}`);
  const records = join(dir, 'records');
  const file = join(dir, 'server.properties');
  const log4j = join(dir, 'log4j2.properties');
  const java = [SHORT_LIVED, ...javaArguments(place.jars, log4j), ...place.archive.use()];

  const format = async () => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(log4j, loggingProperties(join(dir, 'kafka.log')));
    writeFileSync(file, propertiesText(propertiesOf(place, id, records)));
    await run(place.java, [
      ...java,
      'kafka.tools.StorageTool',
      'format',
      '-t',
      place.clusterId,
      '-c',
      file,
    ]);
  };
  return {
    id,
    address: `127.0.0.1:${place.ports[id - 1]?.broker ?? 0}`,
    records,
    get pid() {
      return running.get(id)?.pid;
    },
    start: async () => {
      if (!existsSync(records)) await format();
      const output = openSync(join(dir, 'kafka.out'), 'a');
      const program = await startDyingWithParent(
        place.java,
        [...java, 'kafka.Kafka', file],
        output,
      );
      closeSync(output);
      running.set(id, program);
      void program.ended.then(() => running.delete(id));
    },
    quorum: () => {
      try {
        const text = readFileSync(join(records, '__cluster_metadata-0', 'quorum-state'), 'utf8');
        const { leaderId, leaderEpoch } = JSON.parse(text) as {
          leaderId: number;
          leaderEpoch: number;
        };
        return { leaderId, epoch: leaderEpoch };
      } catch {
        // The file is missing or incomplete.
        return undefined;
      }
    },
  };
}

function propertiesOf({ ports }: Place, id: number, logDir: string): Record<string, string> {
  const voters = ports.map(({ controller }, i) => `${i + 1}@127.0.0.1:${controller}`);
  const copies = String(Math.min(3, ports.length));
  const enough = String(Math.min(2, ports.length));
  return {
    ...brokerProperties({ ports: ports[id - 1] ?? { broker: 0, controller: 0 }, logDir }),
    'node.id': String(id),
    // Consumers that name a rack read from the broker there.
    'broker.rack': `rack-${id}`,
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    'controller.quorum.voters': voters.join(','),
    'default.replication.factor': copies,
    'min.insync.replicas': enough,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': enough,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': enough,
  };
}
