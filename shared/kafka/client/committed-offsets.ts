import { type Admin, type Kafka as KafkaJs } from 'kafkajs';
import { idOf, type TopicPartition } from '../consumer/partition';
import { clusterMaker } from './cluster';

/**
 * Reads committed offsets of single partitions. The admin of kafkajs asks for all partitions of a
 * topic or of a group: with 2,000 partitions and their metadata, each process that got one
 * partition asked for megabytes.
 */

export interface Committed {
  /** negative without a commit */
  offset: number;
  metadata: string;
}

/** Returns the commits of a group by partition id. */
export type ReadCommitted = (
  groupId: string,
  places: readonly TopicPartition[],
) => Promise<ReadonlyMap<string, Committed>>;

interface WantedOffsets {
  groupId: string;
  topics: { topic: string; partitions: { partition: number }[] }[];
}
interface Coordinator {
  offsetFetch(wanted: WantedOffsets): Promise<{
    responses: {
      topic: string;
      partitions: { partition: number; offset: string; metadata: string | null }[];
    }[];
  }>;
}
interface Cluster {
  findGroupCoordinator(group: { groupId: string }): Promise<Coordinator>;
}

/** Returns an admin, and a reader of committed offsets on the same connections. */
export function adminWithOffsets(client: KafkaJs): { admin: Admin; readCommitted: ReadCommitted } {
  const { symbol, make } = clusterMaker(client);
  const cluster = make({ allowAutoTopicCreation: false }) as Cluster;
  const admin = (Object.create(client, { [symbol]: { value: () => cluster } }) as KafkaJs).admin();
  return { admin, readCommitted: (groupId, places) => read(cluster, groupId, places) };
}

async function read(cluster: Cluster, groupId: string, places: readonly TopicPartition[]) {
  // Without a topic, Kafka would answer for the whole group.
  if (places.length === 0) return new Map<string, Committed>();
  const wanted = new Map<string, { partition: number }[]>();
  for (const { topic, number } of places) {
    wanted.set(topic, [...(wanted.get(topic) ?? []), { partition: number }]);
  }
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const topics = [...wanted].map(([topic, partitions]) => ({ topic, partitions }));
  const { responses } = await coordinator.offsetFetch({ groupId, topics });
  const found = new Map<string, Committed>();
  for (const { topic, partitions } of responses) {
    for (const { partition, offset, metadata } of partitions) {
      found.set(idOf({ topic, number: partition }), {
        offset: Number(offset),
        metadata: metadata ?? '',
      });
    }
  }
  return found;
}
