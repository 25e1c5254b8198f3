import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, logLevel } from 'kafkajs';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { type Node, startCluster } from '../../tools/chaos/cluster';
import { eventually } from './eventually';

/** Three brokers with manually assigned replicas; the first can crash, and the third stop. */
export interface ThreeBrokers {
  /** host:port, separated by commas */
  brokers: string;
  admin: Admin;
  /** Creates a topic. `replicas` holds the brokers (1 to 3) of each partition. */
  createTopic(
    topic: string,
    replicas: number[][],
    minInSync: number,
    settings?: Record<string, string>,
  ): Promise<void>;
  /** Stops the third broker and waits until it has left the in-sync replicas of these partitions. */
  stopThird(partitions: readonly [topic: string, partition: number][]): Promise<void>;
  startThird(): Promise<void>;
  killFirst(): Promise<void>;
  close(): Promise<void>;
}

/** Three brokers on two cores answer late. */
const SEEN_MS = 120_000;

export async function startThreeBrokers(): Promise<ThreeBrokers> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-brokers-'));
  const cluster = await startCluster(dir, 3);
  const { brokers } = cluster;
  const admin = kafkajsClient({
    clientId: 'test',
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  // One broker may answer before the others have registered, and then refuses to place replicas on
  // them.
  await eventually(async () => expect((await admin.describeCluster()).brokers).toHaveLength(3), {
    deadlineMs: SEEN_MS,
  });
  const [first, , third] = cluster.nodes as [Node, Node, Node];
  const end = async (node: Node, signal: NodeJS.Signals) => {
    process.kill(node.pid!, signal);
    await eventually(() => expect(node.pid).toBeUndefined(), { deadlineMs: SEEN_MS });
  };
  const isrOf = async ([topic, partition]: readonly [topic: string, partition: number]) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.isr ?? [];
  };
  return {
    brokers,
    admin,
    createTopic: async (topic, replicas, minInSync, settings = {}) => {
      const replicaAssignment = replicas.map((ids, partition) => ({ partition, replicas: ids }));
      const all = { 'min.insync.replicas': String(minInSync), ...settings };
      const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
      // Tries again after a timeout of the controllers. A topic that exists causes no error.
      await eventually(() =>
        admin.createTopics({
          waitForLeaders: false,
          topics: [{ topic, replicaAssignment, configEntries }],
        }),
      );
    },
    stopThird: async (partitions) => {
      const isrs = () => Promise.all(partitions.map(isrOf));
      await eventually(
        async () => {
          for (const isr of await isrs()) expect(isr).toContain(3);
        },
        { deadlineMs: SEEN_MS },
      );
      await end(third, 'SIGTERM');
      await eventually(
        async () => {
          for (const isr of await isrs()) expect(isr).not.toContain(3);
        },
        { deadlineMs: SEEN_MS },
      );
    },
    startThird: () => third.start(),
    killFirst: () => end(first, 'SIGKILL'),
    close: async () => {
      await admin.disconnect();
      await cluster.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
