import { type Admin, type Kafka as KafkaJs } from 'kafkajs';
import { sleep } from '../../runtime/async';
import { type Bounds } from '../consumer/leaders';
import { ERROR } from '../protocol/error-codes';
import { NO_LEADER } from '../protocol/metadata-request';
import { clusterMaker } from './cluster';

/**
 * Lets kafkajs work with topics in which a partition has no leader, because all its replicas are on
 * brokers that are down. kafkajs throws the first error that it finds in metadata, so that no
 * process could start, join a group or read the other partitions of the topic (kafkajs 2.2.4).
 * Errors of whole topics are thrown as before.
 */

const METADATA_KEY = 3;
/**
 * Metadata without a leader expires after this time instead of five minutes, so that the partition
 * is read again soon.
 */
const LOOK_AGAIN_MS = 250;
const WITHIN_MS = 10_000;
/**
 * The limit at a start: a loaded broker may need this long for the leaders of some hundred new
 * partitions.
 */
export const START_WITHIN_MS = 60_000;
const PAUSE_MS = 100;

interface Protocol {
  request: unknown;
  response: { decode(raw: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> };
}
interface Definition {
  protocol(by: { version: number }): (input: object) => Protocol;
}
interface Broker {
  lookupRequest(apiKey: number, definition: Definition): (input: object) => Protocol;
  metadata(topics?: string[]): Promise<unknown>;
  disconnect(): Promise<void>;
  connectionPool: { send(request: Protocol): Promise<unknown> };
}

export interface Metadata {
  topicMetadata: {
    topic: string;
    topicErrorCode: number;
    partitionMetadata: { partitionId: number; leader: number }[];
  }[];
}

interface BrokerPool {
  metadata: Metadata | null;
  metadataExpireAt: number | null;
  createBroker(options: object): Broker;
  refreshMetadata(topics: string[]): Promise<void>;
}

interface WantedTopics {
  topic: string;
  partitions: { partition: number }[];
}
interface Cluster {
  targetTopics: Set<string>;
  brokerPool: BrokerPool;
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  fetchTopicsOffset(wanted: WantedTopics[]): Promise<{ topic: string; partitions: object[] }[]>;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name
const metadataRequest = require('kafkajs/src/protocol/requests/metadata') as Definition;

/** Makes a cluster accept metadata with errors, if `accepts` returns true. */
export function acceptMetadata(
  { brokerPool }: { brokerPool: Pick<BrokerPool, 'createBroker'> },
  accepts: (metadata: Metadata) => boolean,
): void {
  const create = brokerPool.createBroker.bind(brokerPool);
  brokerPool.createBroker = (options) => {
    const broker = create(options);
    broker.metadata = async (topics = []) => {
      const { request, response } = broker.lookupRequest(
        METADATA_KEY,
        metadataRequest,
      )({ topics, allowAutoTopicCreation: false });
      const parse = (data: unknown) =>
        accepts(data as Metadata) ? Promise.resolve(data) : response.parse(data);
      try {
        return await broker.connectionPool.send({
          request,
          response: { decode: (raw) => response.decode(raw), parse },
        });
      } catch (error) {
        // As in kafkajs: otherwise the broker would count as connected.
        if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
        throw error;
      }
    };
    return broker;
  };
}

/**
 * Returns a client whose admins work with topics in which a partition has no leader. Only a look-up
 * of a topic's offsets fails with LEADER_NOT_AVAILABLE then.
 */
export function allowLeaderless(client: KafkaJs): KafkaJs {
  const { symbol, make } = clusterMaker(client);
  const value = (options: object) => {
    const cluster = make(options) as Cluster;
    acceptMetadata(cluster, ({ topicMetadata }) => {
      forgetMissing(cluster, topicMetadata);
      return topicMetadata.every(({ topicErrorCode }) => topicErrorCode === 0);
    });
    lookAgain(cluster.brokerPool);
    requireLeaders(cluster);
    return cluster;
  };
  return Object.create(client, { [symbol]: { value } }) as KafkaJs;
}

/**
 * kafkajs asks for each topic that it was ever asked about, so that one that was deleted would make
 * all later look-ups fail. Its own look-up fails once more.
 */
function forgetMissing(
  { targetTopics }: Pick<Cluster, 'targetTopics'>,
  topics: Metadata['topicMetadata'],
): void {
  for (const { topic, topicErrorCode } of topics) {
    if (topicErrorCode === ERROR.unknownTopic) targetTopics.delete(topic);
  }
}

function lookAgain(pool: BrokerPool): void {
  const refresh = pool.refreshMetadata.bind(pool);
  pool.refreshMetadata = async (topics) => {
    await refresh(topics);
    const partitions =
      pool.metadata?.topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata) ?? [];
    if (partitions.some(({ leader }) => leader === NO_LEADER)) {
      pool.metadataExpireAt = Date.now() + LOOK_AGAIN_MS;
    }
  };
}

function requireLeaders(cluster: Cluster): void {
  const fetch = cluster.fetchTopicsOffset.bind(cluster);
  cluster.fetchTopicsOffset = (wanted) => {
    for (const { topic, partitions } of wanted) {
      const numbers = partitions.map(({ partition }) => partition);
      const missing = cluster.findLeaderForPartitions(topic, numbers)[NO_LEADER];
      if (missing) return Promise.reject(leaderless(topic, missing));
    }
    return fetch(wanted);
  };
}

function leaderless(topic: string, partitions: number[]): Error {
  const error = new Error(`${topic} has no leader for partition ${partitions.join(', ')}`);
  return Object.assign(error, { type: 'LEADER_NOT_AVAILABLE', retriable: true });
}

/**
 * Repeats a look-up while leaders are missing: a topic that another process has just created is
 * listed before its partitions have leaders, and kafkajs fails at the first broker that says so.
 * @throws its error, if it is another one or `withinMs` is over
 */
export async function whileLeadersAreFound<T>(
  lookUp: () => Promise<T>,
  withinMs = WITHIN_MS,
): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await lookUp();
    } catch (error) {
      if (!isLeaderless(error) || performance.now() >= until) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

const LEADERLESS = new Set<unknown>([
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

/** Looks into causes as well: kafkajs wraps the broker's error after its last retry. */
function isLeaderless(error: unknown): boolean {
  const { type, cause } = (error ?? {}) as { type?: unknown; cause?: unknown };
  return LEADERLESS.has(type) || (cause !== undefined && cause !== error && isLeaderless(cause));
}

/** Returns the first and end offset of each partition of a topic. */
export async function readBounds(admin: Admin, topic: string): Promise<Map<number, Bounds>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(
    offsets.map(({ partition, low, high }) => [
      partition,
      { low: Number(low), high: Number(high) },
    ]),
  );
}
