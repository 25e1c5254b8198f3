import { type Kafka as KafkaJs } from 'kafkajs';
import { sleep } from '../../runtime/async';
import { FetchThrottle } from '../consumer/fetch-throttle';
import { type FetchedRecord } from '../protocol/batch';
import { ERROR, KafkaError } from '../protocol/error-codes';
import { FETCH_BY_NAME, type FetchAnswer, readFetch, writeFetch } from '../protocol/fetch-request';
import { type Connection, Wire } from './wire';

/**
 * Connects to the brokers without a consumer group. kafkajs has such connections inside, and no
 * public way to read with them. They are made by the symbol that its producers, consumers and
 * admins use. The version is pinned, and a test reads from a real broker this way.
 */

const CREATE_CLUSTER = 'private:Kafka:createCluster';
const METADATA_MAX_AGE_MS = 300_000;

/** One partition in a fetch response. */
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
  return Object.create(cluster, { findBroker: { value: fetchOverWire(cluster) } }) as Cluster;
}

/** The connection of kafkajs that fetches use. */
const FETCHES = 1;
/** Beyond the longest wait of a fetch. */
const FETCH_WITHIN_MS = 10_000;

function fetchOverWire(cluster: Cluster): Cluster['findBroker'] {
  const find = cluster.findBroker.bind(cluster) as unknown as (node: {
    nodeId: string;
  }) => Promise<{ connectionPool: { pool: readonly Connection[] } }>;
  const throttles = new Map<string, FetchThrottle>();
  return async ({ nodeId }) => {
    const { connectionPool } = await find({ nodeId });
    const connection = connectionPool.pool[FETCHES];
    if (!connection) throw new Error('this version of kafkajs is not supported');
    const wire = Wire.of(connection);
    let throttle = throttles.get(nodeId);
    if (!throttle) throttles.set(nodeId, (throttle = new FetchThrottle()));
    return { fetch: (request) => fetch(wire, throttle, request) };
  };
}

async function fetch(
  wire: Wire,
  throttle: FetchThrottle,
  request: FetchRequest,
): Promise<FetchResponse> {
  const { maxWaitTime, minBytes, maxBytes } = request;
  // A fetch that does not wait for records is not part of a loop.
  const waitMs = maxWaitTime > 0 ? throttle.wait(performance.now()) : 0;
  if (waitMs > 0) await sleep(waitMs);
  await wire.open();
  const input = {
    maxWaitMs: maxWaitTime,
    minBytes,
    maxBytes,
    rack: '',
    sessionId: 0,
    sessionEpoch: -1,
    topics: request.topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition, fetchOffset, maxBytes: most }) => ({
        partition,
        leaderEpoch: -1,
        offset: Number(fetchOffset),
        maxBytes: most,
      })),
    })),
    forgotten: [],
  };
  const from = await wire.call(
    FETCH_BY_NAME,
    (to) => writeFetch(to, input, FETCH_BY_NAME),
    maxWaitTime + FETCH_WITHIN_MS,
  );
  const answer = readFetch(from, FETCH_BY_NAME);
  wire.throttle(answer.throttleMs);
  throttle.noteRecords(answer.partitions.reduce((sum, { records }) => sum + records.length, 0));
  return responseOf(answer);
}

/** @throws KafkaError for the first error of a partition */
function responseOf({ throttleMs, errorCode, partitions }: FetchAnswer): FetchResponse {
  if (errorCode !== 0) throw new KafkaError('a fetch', errorCode);
  const topics = new Map<string, FetchedPartition[]>();
  for (const { topic, partition, errorCode: code, highWatermark, ...read } of partitions) {
    if (code !== 0) throw new KafkaError(`${topic}/${String(partition)}`, code);
    const messages = read.records.filter(({ isHidden }) => !isHidden);
    const each = { partition, highWatermark: String(highWatermark), messages, next: read.next };
    topics.set(topic, [...(topics.get(topic) ?? []), each]);
  }
  return {
    clientSideThrottleTime: throttleMs,
    responses: [...topics].map(([topicName, ofTopic]) => ({ topicName, partitions: ofTopic })),
  };
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
  return error instanceof KafkaError && error.errorCode === ERROR.offsetOutOfRange;
}
