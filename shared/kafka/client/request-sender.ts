import { type Kafka as KafkaJs } from 'kafkajs';
import { brokerClock } from '../broker-clock';
import { type TopicMetadata } from '../protocol/metadata-request';
import {
  PRODUCE,
  type ProduceInput,
  type ProduceResult,
  readProduce,
  writeProduce,
} from '../protocol/produce-request';
import { type OutRecord } from '../port';
import { CONFIG } from '../topics';
import { Brokers } from './brokers';
import { type Wire } from './wire';

/**
 * Sends produce requests to the leaders of partitions, and returns the result of each partition.
 * The producer of kafkajs throws the first error of a request, requires metadata without any error,
 * and resolves for a partition that it does not know (kafkajs 2.2.4).
 */

/**
 * Below the client's request timeout of 10 s: otherwise a request is sent again while the broker
 * still works on it.
 */
const PRODUCE_TIMEOUT_MS = 9_000;
const ANSWER_WITHIN_MS = PRODUCE_TIMEOUT_MS + 1_000;

/** The records of one partition in a request. */
interface PartitionRecords {
  topic: string;
  partition: number;
  messages: readonly OutRecord[];
}

/** Nothing was sent: no connection could be made. */
export class NotSent extends Error {}

/** Nothing was sent: the time was over. The broker may be throttling this client. */
export class TooLate extends Error {}

interface SendOptions {
  /**
   * uses a second connection: a broker answers the requests of one connection one after the other
   */
  spare: boolean;
  /** the request is not written at this time or later, by `performance.now()`; Infinity: always */
  before: number;
}

export interface RequestSender {
  /** Refreshes the metadata of the topics. @throws if no broker answers */
  refresh(topics: Iterable<string>): Promise<Map<string, TopicMetadata>>;
  /**
   * Sends one request. @returns the error code of each part, in their order
   * @throws NotSent; TooLate; any other error means that the result of the request is unknown
   */
  send(node: number, parts: readonly PartitionRecords[], options: SendOptions): Promise<number[]>;
  disconnect(): Promise<void>;
}

/** Connects to the brokers. @throws an error of kafkajs if no broker answers */
export async function connectRequestSender(
  client: KafkaJs,
  prefix: string,
): Promise<RequestSender> {
  const brokers = new Brokers(client, prefix + CONFIG);
  await brokers.connect();
  return {
    refresh: async (topics) => {
      const metadata = await brokers.metadata([...topics].map((topic) => prefix + topic));
      return new Map([...metadata].map(([topic, found]) => [topic.slice(prefix.length), found]));
    },
    send: (node, parts, options) => send(brokers, { node, parts, prefix, ...options }),
    disconnect: () => brokers.disconnect(),
  };
}

interface Sending extends SendOptions {
  node: number;
  parts: readonly PartitionRecords[];
  prefix: string;
}

async function send(
  brokers: Brokers,
  { node, parts, spare, before, prefix }: Sending,
): Promise<number[]> {
  const wire = await open(brokers, node, spare);
  const input: ProduceInput = {
    acks: -1,
    timeout: PRODUCE_TIMEOUT_MS,
    topicData: byTopic(parts, prefix),
  };
  let mark = brokerClock.mark();
  let result: ProduceResult;
  try {
    const answer = await wire.call(
      PRODUCE,
      (to) => {
        mark = brokerClock.mark();
        writeProduce(to, input, Date.now());
        // The process may have been stopped since its caller looked at the clock.
        if (performance.now() >= before) throw new TooLate('its time was over');
      },
      ANSWER_WITHIN_MS,
    );
    result = readProduce(answer);
  } catch (error) {
    if (error instanceof TooLate) throw error;
    // A broken or unresponsive connection is not used again.
    await wire.close(error as Error);
    throw error;
  }
  wire.throttle(result.throttleMs);
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

async function open(brokers: Brokers, node: number, spare: boolean): Promise<Wire> {
  try {
    return await brokers.wireTo(node, spare ? 1 : 0);
  } catch (error) {
    throw new NotSent('the broker cannot be reached', { cause: error });
  }
}

function byTopic(parts: readonly PartitionRecords[], prefix: string): ProduceInput['topicData'] {
  const topics = new Map<string, ProduceInput['topicData'][number]>();
  for (const { topic, partition, messages } of parts) {
    const known = topics.get(topic);
    if (known) known.partitions.push({ partition, messages });
    else topics.set(topic, { topic: prefix + topic, partitions: [{ partition, messages }] });
  }
  return [...topics.values()];
}
