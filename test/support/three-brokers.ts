import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, logLevel } from 'kafkajs';
import { Brokers } from '../../shared/kafka/client/brokers';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { type Write } from '../../shared/kafka/client/wire';
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
  /**
   * Stops the third broker and waits until it has left the in-sync replicas of these partitions.
   */
  stopThird(partitions: readonly [topic: string, partition: number][]): Promise<void>;
  startThird(): Promise<void>;
  killFirst(): Promise<void>;
  /**
   * Waits until the third broker leads a partition, in sync or not. Controllers before Kafka 4
   * elect one that is not in sync only if an operator asks for it.
   */
  electThird(topic: string, partition: number): Promise<void>;
  close(): Promise<void>;
}

/** Three brokers on two cores answer late. */
const SEEN_MS = 120_000;
const ELECT_LEADERS = { key: 43, version: 1 };
const UNCLEAN = 1;
const ELECTION_MS = 5_000;

export async function startThreeBrokers(): Promise<ThreeBrokers> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-brokers-'));
  const cluster = await startCluster(dir, 3);
  const { brokers } = cluster;
  const client = kafkajsClient({
    clientId: 'test',
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
  });
  const admin = client.admin();
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
  const stateOf = async (topic: string, partition: number) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.find(({ partitionId }) => partitionId === partition);
  };
  const isrOf = async ([topic, partition]: readonly [topic: string, partition: number]) =>
    (await stateOf(topic, partition))?.isr ?? [];
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
    electThird: (topic, partition) =>
      eventually(
        async () => {
          await elect(new Brokers(client, topic), topic, partition);
          expect((await stateOf(topic, partition))?.leader).toBe(3);
        },
        { deadlineMs: SEEN_MS },
      ),
    close: async () => {
      await admin.disconnect();
      await cluster.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Asks the third broker for an unclean election of a leader. */
async function elect(brokers: Brokers, topic: string, partition: number): Promise<void> {
  const write: Write = (to) => {
    to.int8(UNCLEAN);
    to.array([topic], (name) => {
      to.string(name);
      to.array([partition], (number) => to.int32(number));
    });
    to.int32(ELECTION_MS);
  };
  await brokers.connect();
  try {
    const wire = await brokers.wireTo(3, 0);
    await wire.call(ELECT_LEADERS, write, 2 * ELECTION_MS);
  } finally {
    await brokers.disconnect();
  }
}
