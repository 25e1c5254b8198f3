import { Kafka as KafkaJs, logLevel, type Admin } from 'kafkajs';
import { join } from 'node:path';
import { findKafka } from '../../deploy/standalone/kafka-source';
import { messageOf } from '../../shared/service/errors';

/** The Kafka of a benchmark: its own, as `npm start` runs it, so that its CPU time can be told from anybody else's. */

const READY_MS = 90_000;
const STOP_MS = 5_000;

export interface BenchBroker {
  address: string;
  /** 0 where it runs in a container */
  pid: number;
  /** where its records are, a folder for each partition; undefined where it runs in a container */
  folder: string | undefined;
  /** Records there are in all partitions of a topic, full name; 0 where it is not there. */
  records(topic: string): Promise<number>;
  topics(): Promise<string[]>;
  /**
   * Deletes all topics of a prefix, so that no benchmark carries the records and partitions of those before it. Where it
   * cannot, the next ones cost a little more: no reason to hide why a benchmark failed.
   */
  forget(prefix: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param note told what takes a while */
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
