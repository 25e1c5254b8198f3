import { type Kafka as KafkaJs } from 'kafkajs';
import { brokerClock } from '../broker-clock';
import {
  decodeProduce,
  encodeProduce,
  type ProduceInput,
  type ProduceResult,
} from '../protocol/produce-request';
import { createCluster } from './cluster';
import { acceptMetadata, type Metadata, NO_LEADER } from './leaderless';
import { type OutRecord } from '../port';

/**
 * Sends produce requests to the leaders of partitions, and returns the result of each partition.
 * The producer of kafkajs throws the first error of a request, requires metadata without any error,
 * and resolves for a partition that it does not know (kafkajs 2.2.4). Its connections,
 * authentication and choice of protocol versions are used here.
 */

/**
 * Below the client's request timeout of 10 s: otherwise a request is sent again while the broker
 * still works on it.
 */
const PRODUCE_TIMEOUT_MS = 9_000;
const PRODUCE_KEY = 0;
/** The second of kafkajs's two connections to a broker, which only fetches use. */
const SPARE_CONNECTION = 1;

/** Metadata of a topic. */
export interface TopicMetadata {
  /** 0, or the error that metadata has for the topic */
  errorCode: number;
  /** by partition: the id of the leading broker; NO_NODE without one */
  leaders: readonly number[];
}
export const NO_NODE = NO_LEADER;

/** The records of one partition in a request. */
interface Part {
  topic: string;
  partition: number;
  messages: readonly OutRecord[];
}

/** No connection to the broker could be made: nothing was sent. */
export class NotSent extends Error {}

interface Protocol {
  request: { apiVersion: number; encode(): Promise<unknown> };
  response: { decode(raw: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> };
}
interface Definition {
  versions: readonly string[];
  protocol(by: { version: number }): (input: object) => Protocol;
}
interface Connection {
  send(request: Protocol): Promise<unknown>;
  disconnect(): Promise<unknown>;
}
interface Broker {
  lookupRequest(apiKey: number, definition: Definition): (input: object) => Protocol;
  metadata(topics?: string[]): Promise<unknown>;
  disconnect(): Promise<void>;
  connectionPool: {
    host: string;
    port: number;
    send(request: Protocol): Promise<unknown>;
    getConnection(index: number): Promise<Connection>;
  };
}
interface Cluster {
  targetTopics: Set<string>;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  removeBroker(address: { host: string; port: number }): void;
  brokerPool: {
    metadata: Metadata | null;
    createBroker(options: object): Broker;
    findBroker(node: { nodeId: number }): Promise<Broker>;
  };
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name
const produceRequest = require('kafkajs/src/protocol/requests/produce') as Definition;

export interface RequestSender {
  /** Refreshes the metadata of the topics. @throws if no broker answers */
  refresh(topics: Iterable<string>): Promise<Map<string, TopicMetadata>>;
  /**
   * Sends one request.
   * @param spare uses a second connection: a broker answers the requests of one connection one
   *   after the other
   * @returns the error code of each part, in their order
   * @throws NotSent; any other error means that the result of the request is unknown
   */
  send(node: number, parts: readonly Part[], spare: boolean): Promise<number[]>;
  disconnect(): Promise<void>;
}

/** Connects to the brokers. @throws an error of kafkajs if no broker answers */
export async function connectRequestSender(
  client: KafkaJs,
  prefix: string,
): Promise<RequestSender> {
  const cluster = createCluster(client) as Cluster;
  // One forbidden topic must not hide the others.
  acceptMetadata(cluster, () => true);
  await cluster.connect();
  return {
    refresh: async (topics) => {
      for (const topic of topics) cluster.targetTopics.add(prefix + topic);
      await cluster.refreshMetadata();
      return leadersOf(cluster.brokerPool.metadata, prefix);
    },
    send: (node, parts, spare) => send(cluster, { node, parts, spare, prefix }),
    disconnect: () => cluster.disconnect(),
  };
}

function leadersOf(metadata: Metadata | null, prefix: string): Map<string, TopicMetadata> {
  const topics = new Map<string, TopicMetadata>();
  for (const { topic, topicErrorCode, partitionMetadata } of metadata?.topicMetadata ?? []) {
    const leaders = new Array<number>(partitionMetadata.length).fill(NO_NODE);
    for (const { partitionId, leader } of partitionMetadata) leaders[partitionId] = leader;
    topics.set(topic.slice(prefix.length), { errorCode: topicErrorCode, leaders });
  }
  return topics;
}

interface Sending {
  node: number;
  parts: readonly Part[];
  spare: boolean;
  prefix: string;
}

async function send(cluster: Cluster, { node, parts, spare, prefix }: Sending): Promise<number[]> {
  const { broker, sendOn, forget } = await connect(cluster, node, spare);
  const input: ProduceInput = {
    acks: -1,
    timeout: PRODUCE_TIMEOUT_MS,
    topicData: byTopic(parts, prefix),
  };
  const { request } = broker.lookupRequest(PRODUCE_KEY, produceRequest)(input);
  const version = request.apiVersion;
  let mark = brokerClock.mark();
  request.encode = () => {
    mark = brokerClock.mark();
    return Promise.resolve(encodeProduce(input, Date.now()));
  };
  const response = {
    decode: (raw: Buffer) => Promise.resolve(decodeProduce(raw, version)),
    parse: (data: unknown) => Promise.resolve(data),
  };
  let result: ProduceResult;
  try {
    result = (await sendOn({ request, response })) as ProduceResult;
  } catch (error) {
    // A broken or unresponsive connection is not used again.
    forget();
    throw error;
  }
  // One broker sets all timestamps of a response.
  const stamped = result.partitions.find(
    ({ errorCode, appendedAt }) => errorCode === 0 && appendedAt > 0,
  );
  if (stamped) brokerClock.wrote(stamped.appendedAt, mark);
  const codes = new Map(
    result.partitions.map(({ topic, partition, errorCode }) => [
      `${topic}/${partition}`,
      errorCode,
    ]),
  );
  return parts.map(
    ({ topic, partition }) => codes.get(`${prefix}${topic}/${partition}`) ?? UNANSWERED,
  );
}

/** The response does not name the partition: Kafka's UNKNOWN_SERVER_ERROR. */
const UNANSWERED = -1;

async function connect(cluster: Cluster, node: number, spare: boolean) {
  try {
    const broker = await cluster.brokerPool.findBroker({ nodeId: node });
    const { connectionPool } = broker;
    if (!spare) {
      const forget = () => {
        // The next metadata refresh creates another one.
        cluster.removeBroker(connectionPool);
        broker.disconnect().catch(() => undefined);
      };
      return { broker, sendOn: connectionPool.send.bind(connectionPool), forget };
    }
    const connection = await connectionPool.getConnection(SPARE_CONNECTION);
    const forget = () => void connection.disconnect().catch(() => undefined);
    return { broker, sendOn: connection.send.bind(connection), forget };
  } catch (error) {
    throw new NotSent('the broker cannot be reached', { cause: error });
  }
}

function byTopic(parts: readonly Part[], prefix: string): ProduceInput['topicData'] {
  const topics = new Map<string, ProduceInput['topicData'][number]>();
  for (const { topic, partition, messages } of parts) {
    const known = topics.get(topic);
    if (known) known.partitions.push({ partition, messages });
    else topics.set(topic, { topic: prefix + topic, partitions: [{ partition, messages }] });
  }
  return [...topics.values()];
}
