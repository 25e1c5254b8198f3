import { type Kafka as KafkaJs } from 'kafkajs';
import { type FetchedRecord } from '../protocol/batch';

/**
 * Connects to the brokers without a consumer group. kafkajs has such connections inside, and no
 * public way to read with them. They are made by the symbol that its producers, consumers and
 * admins use. The version is pinned, and a test reads from a real broker this way.
 */

const CREATE_CLUSTER = 'private:Kafka:createCluster';
const METADATA_MAX_AGE_MS = 300_000;

/** One partition in a fetch response, as `patches.ts` decodes it. */
export interface FetchedPartition {
  partition: number;
  highWatermark: string;
  messages: FetchedRecord[];
  /** see `FetchedBatches` */
  next: number | undefined;
}

export interface FetchResponse {
  /** ms; above 0 the broker withheld records because of a client quota, and names no partition */
  clientSideThrottleTime: number;
  responses: { topicName: string; partitions: FetchedPartition[] }[];
}

interface FetchRequest {
  /** ms */
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  topics: {
    topic: string;
    partitions: { partition: number; fetchOffset: string; maxBytes: number }[];
  }[];
}

/** The used part of kafkajs's Cluster. A broker is connected at its first request. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): { partitionId: number; leader: number }[];
  /** @returns partitions by node id */
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  findBroker(node: {
    nodeId: string;
  }): Promise<{ fetch(request: FetchRequest): Promise<FetchResponse> }>;
}

/**
 * Returns a cluster with separate connections: a broker answers the requests of a connection one
 * after the other.
 */
export async function connectCluster(client: KafkaJs, topic?: string): Promise<Cluster> {
  const cluster = createCluster(client) as Cluster;
  try {
    await cluster.connect();
    if (topic !== undefined) await cluster.addTargetTopic(topic);
  } catch (error) {
    await cluster.disconnect().catch(() => undefined);
    throw error;
  }
  return cluster;
}

/** Returns an unconnected cluster. The caller declares the parts of it that it uses. */
export function createCluster(client: KafkaJs): unknown {
  return clusterMaker(client).make({
    metadataMaxAge: METADATA_MAX_AGE_MS,
    allowAutoTopicCreation: false,
  });
}

/**
 * Finds the method with which kafkajs makes the connections of its producers, consumers and admins.
 */
export function clusterMaker(client: KafkaJs): {
  symbol: symbol;
  make: (options: object) => unknown;
} {
  const symbol = Object.getOwnPropertySymbols(client).find(
    (each) => each.description === CREATE_CLUSTER,
  );
  const make =
    symbol && (client as unknown as Record<symbol, (options: object) => unknown>)[symbol];
  if (!make) throw new Error('this version of kafkajs is not supported');
  return { symbol, make };
}

export function isOutOfRange(error: unknown): boolean {
  return (error as { type?: unknown } | null)?.type === 'OFFSET_OUT_OF_RANGE';
}
