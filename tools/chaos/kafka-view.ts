import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';

/** What can be asked of Kafka from outside: who leads, whether all copies are there, and what is still to be read. */

const GROUPS = ['router', 'delivery', 'retry'];

export class KafkaView {
  readonly #admin: Admin;

  private constructor(
    brokers: string[],
    private readonly prefix: string,
  ) {
    this.#admin = new KafkaJs({ clientId: 'chaos', brokers, logLevel: logLevel.NOTHING }).admin();
  }

  static async open(brokers: string[], prefix: string): Promise<KafkaView> {
    const view = new KafkaView(brokers, prefix);
    await view.#admin.connect();
    return view;
  }

  /** The node that leads the nth partition (or one of them, where there are fewer). */
  async leaderOf(topic: string, nth: number): Promise<number | undefined> {
    const name = topic.startsWith('__') ? topic : this.prefix + topic;
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [name] });
    const partitions = topics[0]?.partitions ?? [];
    return partitions[nth % Math.max(1, partitions.length)]?.leader;
  }

  /** Partitions that have fewer copies in step than they should. */
  async lagging(): Promise<number> {
    const { topics } = await this.#admin.fetchTopicMetadata();
    return topics.flatMap(({ partitions }) => partitions).filter(({ isr, replicas }) => isr.length < replicas.length)
      .length;
  }

  /** Records that the services have not done with, and how many were ever written to what they read. */
  async open(): Promise<{ open: number; written: number }> {
    let [open, written] = [0, 0];
    for (const group of GROUPS) {
      for (const { topic, partitions } of await this.#admin.fetchOffsets({
        groupId: `${this.prefix}waypost-${group}`,
      })) {
        const ends = await this.#admin.fetchTopicOffsets(topic);
        for (const { partition, high } of ends) {
          const offset = Number(partitions.find((entry) => entry.partition === partition)?.offset ?? -1);
          open += Number(high) - Math.max(0, offset);
          written += Number(high);
        }
      }
    }
    return { open, written };
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
  }
}
