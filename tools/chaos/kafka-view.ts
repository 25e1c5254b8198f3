import { type Admin, logLevel } from 'kafkajs';
import { type KafkaAddress } from '../../shared/kafka/client/connection';
import { connectLogs } from '../../shared/kafka/client/consumer-brokers';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { DirectReader } from '../../shared/kafka/reader';

/** Queries Kafka from outside: leaders, replicas in sync, and unread records. */

const GROUPS = ['router', 'delivery', 'retry'];

export class KafkaView {
  readonly #admin: Admin;
  readonly #reader: DirectReader;

  private constructor(
    kafka: KafkaAddress,
    private readonly prefix: string,
  ) {
    const client = kafkajsClient({
      ...kafka,
      clientId: 'chaos',
      logLevel: logLevel.NOTHING,
    });
    this.#admin = client.admin();
    this.#reader = new DirectReader(() => connectLogs(client, '__consumer_offsets'), '');
  }

  static async open(kafka: KafkaAddress, prefix: string): Promise<KafkaView> {
    const view = new KafkaView(kafka, prefix);
    await view.#admin.connect();
    return view;
  }

  /** Returns the node that leads the nth partition (modulo the number of partitions). */
  async leaderOf(topic: string, nth: number): Promise<number | undefined> {
    const name = topic.startsWith('__') ? topic : this.prefix + topic;
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [name] });
    const partitions = topics[0]?.partitions ?? [];
    return partitions[nth % Math.max(1, partitions.length)]?.leader;
  }

  /** Returns the number of partitions with fewer in-sync replicas than configured. */
  async lagging(): Promise<number> {
    const { topics } = await this.#admin.fetchTopicMetadata();
    return topics
      .flatMap(({ partitions }) => partitions)
      .filter(({ isr, replicas }) => isr.length < replicas.length).length;
  }

  /**
   * Returns the number of records that the services have not finished, and of all records ever
   * written to their topics.
   */
  async open(): Promise<{ open: number; written: number }> {
    let [open, written] = [0, 0];
    for (const group of GROUPS) {
      for (const { topic, partitions } of await this.#admin.fetchOffsets({
        groupId: `${this.prefix}waypost-${group}`,
      })) {
        for (const { partition, high } of await this.#reader.ranges(topic)) {
          const offset = Number(
            partitions.find((entry) => entry.partition === partition)?.offset ?? -1,
          );
          open += high - Math.max(0, offset);
          written += high;
        }
      }
    }
    return { open, written };
  }

  async close(): Promise<void> {
    await this.#reader.close();
    await this.#admin.disconnect();
  }
}
