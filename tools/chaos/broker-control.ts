import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { kafkaAddress, waitForKafka } from '../../shared/kafka/client/connection';
import { loadSettings } from '../../shared/runtime/settings';
import { eventually } from '../../test/support/eventually';
import { type System } from '../harness/system';
import { type Cluster, type Node } from './cluster';
import { cutLog, endOfLog } from './log-files';
import { type KafkaView } from './kafka-view';
import { type WhichBroker } from './fault-plan';
import { below } from './processes';

/**
 * Breaks a broker and waits until Kafka is whole again. One at a time: two of three replicas must
 * stay; or all at once, by a power cut.
 */
export interface BrokerControl {
  /** Ends it with the signal, and starts it again. */
  end(which: WhichBroker, signal: NodeJS.Signals): Promise<void>;
  freeze(which: WhichBroker, forMs: number): Promise<void>;
  /**
   * Kills all brokers, and starts them again without the newest records of each partition.
   * @param records how many of each, at least, if there are as many in its newest file
   * @param gone is told the number of records that are gone, while no broker runs
   */
  cut(topic: string, records: number, gone: (records: number) => void): Promise<void>;
}

const WHOLE_MS = 120_000;

/** The broker that the supervisor runs and restarts. */
export function embeddedBroker(system: System): BrokerControl {
  const pid = () =>
    eventually(async () => {
      const found = (await below(system.pid)).find(({ command }) =>
        command.includes('kafka.Kafka'),
      );
      if (!found) throw new Error('no broker runs');
      return found.pid;
    });
  const answers = () => waitForKafka(kafkaAddress(loadSettings(system.env)), WHOLE_MS);
  return {
    end: async (_which, signal) => {
      process.kill(await pid(), signal);
      await answers();
    },
    freeze: async (_which, forMs) => {
      const java = await pid();
      process.kill(java, 'SIGSTOP');
      await pause(forMs);
      process.kill(java, 'SIGCONT');
      await answers();
    },
    cut: () => Promise.reject(new Error('The supervisor restarts this broker before it is cut.')),
  };
}

/** The nodes of a cluster, selected by what they lead. */
export function clusterBrokers(cluster: Cluster, view: KafkaView): BrokerControl {
  const whole = () =>
    eventually(
      async () => {
        // Twice: the other brokers learn the state of a broker with a delay.
        const lagging = (await view.lagging()) + (await pause(1_000).then(() => view.lagging()));
        if (lagging > 0) throw new Error(`${lagging} partitions lack a copy`);
      },
      { deadlineMs: WHOLE_MS, everyMs: 500 },
    );
  const choose = async (which: WhichBroker): Promise<{ node: Node; pid: number }> => {
    await whole();
    const id =
      which.leads === 'controllers'
        ? controllersLeader(cluster)
        : await view.leaderOf(which.topic, which.nth);
    const node = cluster.nodes.find((candidate) => candidate.id === id) ?? cluster.nodes[0];
    if (node?.pid === undefined) throw new Error(`broker ${String(id)} does not run`);
    return { node, pid: node.pid };
  };
  const endNode = async (node: Node, pid: number, signal: NodeJS.Signals) => {
    process.kill(pid, signal);
    await eventually(
      () => {
        if (node.pid === pid) throw new Error('it has not ended');
      },
      { deadlineMs: WHOLE_MS },
    );
  };
  return {
    end: async (which, signal) => {
      const { node, pid } = await choose(which);
      await endNode(node, pid, signal);
      await node.start();
      // The others consider it alive until its session ends: only its own report counts.
      await waitForKafka({ brokers: [node.address] }, WHOLE_MS);
      await whole();
    },
    freeze: async (which, forMs) => {
      const { node, pid } = await choose(which);
      process.kill(pid, 'SIGSTOP');
      await pause(forMs);
      process.kill(pid, 'SIGCONT');
      await waitForKafka({ brokers: [node.address] }, WHOLE_MS);
      await whole();
    },
    cut: async (topic, records, gone) => {
      await whole();
      const { nodes } = cluster;
      await Promise.all(
        nodes.map(async (node) => {
          if (node.pid !== undefined) await endNode(node, node.pid, 'SIGKILL');
        }),
      );
      gone(cutReplicas(nodes, topic, records));
      await Promise.all(nodes.map((node) => node.start()));
      for (const { address } of nodes) await waitForKafka({ brokers: [address] }, WHOLE_MS);
      await whole();
    },
  };
}

/** Cuts the newest records of a topic from all replicas. Returns the number of records. */
function cutReplicas(nodes: readonly Node[], topic: string, records: number): number {
  let gone = 0;
  for (const partition of partitionsOf(nodes, topic)) {
    const folders = nodes
      .map((node) => node.records)
      .filter((at) => existsSync(join(at, partition)));
    const end = Math.max(...folders.map((folder) => endOfLog(folder, partition)));
    const left = folders.map((folder) => cutLog(folder, partition, Math.max(0, end - records)));
    gone += end - Math.min(...left);
  }
  return gone;
}

function partitionsOf(nodes: readonly Node[], topic: string): Set<string> {
  const folders = nodes.flatMap(({ records }) => readdirSync(records));
  return new Set(folders.filter((folder) => folder.replace(/-\d+$/, '') === topic));
}

/** Returns the view of the node with the highest epoch. */
function controllersLeader({ nodes }: Cluster): number | undefined {
  const known = nodes.flatMap((node) => node.quorum() ?? []);
  return known.sort((a, b) => b.epoch - a.epoch)[0]?.leaderId;
}
