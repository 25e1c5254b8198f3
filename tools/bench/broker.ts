import { Kafka as KafkaJs, logLevel, type Admin } from 'kafkajs';
import { join } from 'node:path';
import { findKafka } from '../../deploy/standalone/kafka-source';
import { messageOf } from '../../shared/service/errors';

/** A Kafka for the benchmark alone, started as by `npm start`, so that its CPU time can be measured separately. */

const READY_MS = 90_000;
const STOP_MS = 5_000;

export interface BenchBroker {
  address: string;
  /** 0 if it runs in a container */
  pid: number;
  /** the folder of its records, with a folder for each partition; undefined if it runs in a container */
  folder: string | undefined;
  /** Returns the number of records in all partitions of a topic, full name; 0 if the topic does not exist. */
  records(topic: string): Promise<number>;
  topics(): Promise<string[]>;
  /**
   * Deletes all topics with a prefix, so that a benchmark does not carry the records and partitions of earlier ones.
   * If that fails, the next ones cost a little more. The reason of a failed benchmark matters more, so the error is
   * ignored.
   */
  forget(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param note receives the name of each slow step */
export async function startBroker(dir: string, note: (text: string) => void): Promise<BenchBroker> {
  const launch = await findKafka(note);
  const broker = await launch({ dir: join(dir, 'kafka') });
  let admin: Admin;
  try {
    await broker.ready(READY_MS);
    admin = new KafkaJs({ brokers: [broker.address], clientId: 'waypost-bench', logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  } catch (error) {
    await broker.stop(STOP_MS);
    throw error;
  }
  return {
    address: broker.address,
    pid: broker.pid,
    folder: broker.pid > 0 ? join(dir, 'kafka', 'records') : undefined,
    records: async (topic) => {
      const partitions = await admin.fetchTopicOffsets(topic);
      return partitions.reduce((total, { high, low }) => total + Number(high) - Number(low), 0);
    },
    topics: () => admin.listTopics(),
    forget: async (prefix) => {
      try {
        const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
        if (topics.length > 0) await admin.deleteTopics({ topics });
      } catch (error) {
        note(`the topics of ${prefix} are still there: ${messageOf(error)}`);
      }
    },
    stop: async () => {
      await admin.disconnect();
      await broker.stop(STOP_MS);
    },
  };
}
