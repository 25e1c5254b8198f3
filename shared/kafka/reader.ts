import { type Kafka as KafkaJs } from 'kafkajs';
import { type FetchedRecord } from './codec/records';
import { unavailable } from './offsets';
import { Partition, TakenRecord } from './partition';
import { type Fetched } from './port';

/**
 * Reads records where one says, without a group: kafkajs offers no such thing, but has all the parts of it. They are
 * taken from behind its back by the one symbol that its producers, consumers and admins are made with; the version is
 * pinned, and a test reads by it from a real broker.
 */

const CREATE_CLUSTER = 'private:Kafka:createCluster';
const METADATA_MAX_AGE_MS = 300_000;
/** A leader that moved is found at the second try; a broker that starts takes some more. */
const TRIES = 4;
const PAUSE_MS = 250;

interface FetchedPartition {
  highWatermark: string;
  /** what the codec made of them (codec/install.ts) */
  messages: FetchedRecord[];
}
interface Broker {
  fetch(request: object): Promise<{ responses: { partitions: FetchedPartition[] }[] }>;
}
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
  findBroker(node: { nodeId: string }): Promise<Broker>;
}

export class DirectReader {
  #cluster: Promise<Cluster> | undefined;

  constructor(
    private readonly client: KafkaJs,
    private readonly prefix: string,
  ) {}

  /** @throws AppError `kafka_unavailable` */
  async read(at: { topic: string; partition: number; offset: number; maxBytes: number }): Promise<Fetched> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#fetch(at);
      } catch (error) {
        if (isOutOfRange(error)) return { records: [], next: at.offset, end: at.offset, gone: true };
        if (tries === TRIES) throw unavailable(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
        const cluster = await this.#cluster?.catch(() => undefined);
        if (!cluster) this.#cluster = undefined;
        await cluster?.refreshMetadata().catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    const cluster = await this.#cluster?.catch(() => undefined);
    await cluster?.disconnect();
  }

  async #fetch({ topic, partition, offset, maxBytes }: Parameters<DirectReader['read']>[0]): Promise<Fetched> {
    const name = this.prefix + topic;
    const cluster = await (this.#cluster ??= this.#connect());
    await cluster.addTargetTopic(name);
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(name, [partition]));
    if (nodeId === undefined) throw new Error(`partition ${partition} of ${topic} has no leader`);
    const broker = await cluster.findBroker({ nodeId });
    const { responses } = await broker.fetch({
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes,
      topics: [{ topic: name, partitions: [{ partition, fetchOffset: String(offset), maxBytes }] }],
    });
    const fetched = responses[0]?.partitions[0];
    const owner = new Partition(topic, partition, offset);
    const records = (fetched?.messages ?? [])
      .map((message) => new TakenRecord(owner, message))
      // A whole batch is given, also where it begins before.
      .filter((record) => record.offset >= offset);
    const last = records.at(-1);
    const end = Number(fetched?.highWatermark ?? offset);
    return { records, next: last ? last.offset + 1 : offset, end, gone: false };
  }

  async #connect(): Promise<Cluster> {
    const symbol = Object.getOwnPropertySymbols(this.client).find((each) => each.description === CREATE_CLUSTER);
    const create = symbol && (this.client as unknown as Record<symbol, (options: object) => Cluster>)[symbol];
    if (!create) throw new Error('this version of kafkajs is not the one that is known here');
    const cluster = create({ metadataMaxAge: METADATA_MAX_AGE_MS, allowAutoTopicCreation: false });
    await cluster.connect();
    return cluster;
  }
}

function isOutOfRange(error: unknown): boolean {
  return (error as { type?: unknown } | null)?.type === 'OFFSET_OUT_OF_RANGE';
}
