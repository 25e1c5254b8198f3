import { type Kafka as KafkaJs } from 'kafkajs';
import { AppError } from '../../runtime/errors';
import { FETCH } from '../protocol/fetch-request';
import { KafkaError } from '../protocol/error-codes';
import {
  COMMIT,
  COMMITTED,
  FIND_COORDINATOR,
  HEARTBEAT,
  JOIN,
  LEAVE,
  readFindCoordinator,
  SYNC,
  writeFindCoordinator,
} from '../protocol/group-requests';
import {
  METADATA,
  readMetadata,
  type TopicMetadata,
  writeMetadata,
} from '../protocol/metadata-request';
import { EPOCH_END, LIST_OFFSETS } from '../protocol/offset-requests';
import { PRODUCE } from '../protocol/produce-request';
import { type ByteReader } from '../protocol/bytes';
import { createCluster } from './cluster';
import { type Api, type Connection, type Write, Wire } from './wire';

/**
 * Connects to the brokers of a cluster through kafkajs, which knows their addresses and logs in.
 * Requests are sent over wires (wire.ts): a broker answers the requests of one connection one after
 * the other, and there are two to each.
 */

const ANSWER_WITHIN_MS = 10_000;

interface Broker {
  nodeId: number;
  connectionPool: { pool: readonly Connection[] };
}
/** The used part of kafkajs's Cluster. */
interface Cluster {
  targetTopics: Set<string>;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findBroker(node: { nodeId: number }): Promise<Broker>;
  brokerPool: {
    versions: Versions | null;
    findConnectedBroker(): Promise<Broker>;
  };
}

/** The versions of requests that a broker knows, by their keys. */
type Versions = Readonly<Record<number, { minVersion: number; maxVersion: number }>>;

const USED: readonly Api[] = [
  PRODUCE,
  FETCH,
  METADATA,
  LIST_OFFSETS,
  EPOCH_END,
  FIND_COORDINATOR,
  JOIN,
  SYNC,
  HEARTBEAT,
  LEAVE,
  COMMIT,
  COMMITTED,
];

/** @throws AppError `cannot_start` if a broker does not know the versions that are used */
export function requireVersions(versions: Versions): void {
  const unknown = USED.find(({ key, version }) => {
    const { minVersion = Infinity, maxVersion = -1 } = versions[key] ?? {};
    return version < minVersion || version > maxVersion;
  });
  if (!unknown) return;
  const { key, version } = unknown;
  throw new AppError(
    'cannot_start',
    `Waypost needs Kafka 3.7 to 4.x: a broker does not know version ${version} of request ${key}`,
  );
}

/** The first connection carries kafkajs's own requests, too. */
export type ConnectionIndex = 0 | 1;

export class Brokers {
  readonly #cluster: Cluster;
  #isClosed = false;

  /** @param topic any topic: without one, kafkajs would read the metadata of all */
  constructor(client: KafkaJs, topic: string) {
    this.#cluster = createCluster(client) as Cluster;
    this.#cluster.targetTopics.add(topic);
  }

  /**
   * @throws an error of kafkajs if no broker answers; AppError `cannot_start` for other versions
   */
  async connect(): Promise<void> {
    try {
      await this.#cluster.connect();
      requireVersions(this.#cluster.brokerPool.versions ?? {});
      await this.#cluster.refreshMetadata();
    } catch (error) {
      await this.disconnect().catch(() => undefined);
      throw error;
    }
  }

  disconnect(): Promise<void> {
    this.#isClosed = true;
    return this.#cluster.disconnect();
  }

  /** Reads the metadata of topics, by their full names. @throws if no broker answers */
  async metadata(topics: readonly string[]): Promise<ReadonlyMap<string, TopicMetadata>> {
    if (topics.length === 0) return new Map();
    return readMetadata(await this.#askAny(METADATA, (to) => writeMetadata(to, topics)));
  }

  /** Returns an open connection to a broker. @throws an error of kafkajs */
  async wireTo(node: number, index: ConnectionIndex): Promise<Wire> {
    return this.#wireOf(() => this.#cluster.findBroker({ nodeId: node }), index);
  }

  /**
   * Returns the id of the broker that coordinates a group.
   * @throws KafkaError; without an answer
   */
  async coordinatorOf(groupId: string): Promise<number> {
    const answer = await this.#askAny(FIND_COORDINATOR, (to) => writeFindCoordinator(to, groupId));
    const { errorCode, node } = readFindCoordinator(answer);
    if (errorCode !== 0) throw new KafkaError('the coordinator of the group', errorCode);
    return node;
  }

  async #askAny(api: Api, write: Write): Promise<ByteReader> {
    const wire = await this.#wireOf(() => this.#cluster.brokerPool.findConnectedBroker(), 0);
    return wire.call(api, write, ANSWER_WITHIN_MS);
  }

  async #wireOf(find: () => Promise<Broker>, index: ConnectionIndex): Promise<Wire> {
    this.#requireOpen();
    const { connectionPool } = await find();
    const connection = connectionPool.pool[index];
    if (!connection) throw new Error('this version of kafkajs is not supported');
    const wire = Wire.of(connection);
    await wire.open();
    // A connection that opens after the end would keep the process alive.
    if (this.#isClosed) await this.#cluster.disconnect();
    this.#requireOpen();
    return wire;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new Error('the connections were closed');
  }
}
