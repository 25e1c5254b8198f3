import { type Admin } from 'kafkajs';
import { type FetchedRecord } from '../../shared/kafka/protocol/batch';
import { type Cluster, type FetchResponse } from '../../shared/kafka/client/cluster';

/** A fake broker that is throttled, behind or silent. It has one partition, led by node 1. */

/** Response to a fetch: an error to throw, or the end of its partition. */
export type BrokerAnswer = Error | { throttledMs: number } | 'nothing' | Fetched;

interface Fetched {
  highWatermark: number;
  next?: number;
  messages?: Partial<FetchedRecord>[];
}

export interface FaultyBroker {
  cluster: Cluster;
  admin: Admin;
  /** responses to the next fetches; the last one repeats */
  answers: BrokerAnswer[];
  /** end of the partition that leaders report */
  end: number;
  /** offsets of the fetches so far */
  asked: number[];
}

export function faultyBroker(topic: string, answers: BrokerAnswer[], end: number): FaultyBroker {
  const asked: number[] = [];
  const broker: FaultyBroker = {
    answers,
    end,
    asked,
    admin: {
      fetchTopicMetadata: () =>
        Promise.resolve({ topics: [{ name: topic, partitions: [{ partitionId: 0 }] }] }),
      fetchTopicOffsets: () =>
        Promise.resolve([{ partition: 0, low: '0', high: String(broker.end) }]),
    } as unknown as Admin,
    cluster: {
      connect: done,
      disconnect: done,
      addTargetTopic: done,
      refreshMetadata: done,
      refreshMetadataIfNecessary: done,
      findTopicPartitionMetadata: () => [{ partitionId: 0, leader: 1 }],
      findLeaderForPartitions: () => ({ '1': [0] }),
      findBroker: () =>
        Promise.resolve({
          fetch: async ({ topics }) => {
            const { partition = 0, fetchOffset } = topics[0]?.partitions[0] ?? {};
            asked.push(Number(fetchOffset));
            await new Promise((resolve) => setTimeout(resolve, 10));
            const answer = broker.answers.length > 1 ? broker.answers.shift()! : broker.answers[0]!;
            if (answer instanceof Error) throw answer;
            return responseOf(topic, partition, answer);
          },
        }),
    },
  };
  return broker;
}

const done = () => Promise.resolve();

function responseOf(
  topicName: string,
  partition: number,
  answer: Exclude<BrokerAnswer, Error>,
): FetchResponse {
  if (answer === 'nothing') return { clientSideThrottleTime: 0, responses: [] };
  if ('throttledMs' in answer) return { clientSideThrottleTime: answer.throttledMs, responses: [] };
  const { highWatermark, next, messages = [] } = answer;
  const partitions = [
    {
      partition,
      highWatermark: String(highWatermark),
      messages: messages as FetchedRecord[],
      next,
    },
  ];
  return { clientSideThrottleTime: 0, responses: [{ topicName, partitions }] };
}
