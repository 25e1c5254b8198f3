import { withTimeout } from '../../runtime/async';
import { type TopicMetadata } from '../protocol/metadata-request';
import { EARLIEST, type FoundOffset, LATEST, type LogPlace } from '../protocol/offset-requests';
import { type ConsumerBrokers } from './brokers';
import { idOf, type TopicPartition } from './partition';
import { type RecordName } from './position';

/** Knows the leaders of the partitions that a consumer reads, and asks them about their logs. */

/** A broker that does not answer must not delay the look-up of others. */
const ANSWER_WITHIN_MS = 2_000;

export interface Leader {
  node: number;
  epoch: number;
  /** id of the topic */
  topicId: string;
}

/** First and end offset of a log. */
export interface Bounds {
  low: number;
  /** the offset of the next record */
  high: number;
}

type Requests = Pick<ConsumerBrokers, 'metadata' | 'listOffsets' | 'epochEnd'>;

export class Leaders {
  #topics: ReadonlyMap<string, TopicMetadata> = new Map();

  /** @param topics full names of the topics that the consumer reads */
  constructor(
    private readonly brokers: Requests,
    private readonly topics: readonly string[],
  ) {}

  /** Reads the metadata again. @throws if no broker answers */
  async refresh(): Promise<void> {
    this.#topics = await this.brokers.metadata(this.topics);
  }

  /** Returns the error that a topic has in the metadata; 0 without one. */
  errorOf(topic: string): number {
    return this.#topics.get(topic)?.errorCode ?? 0;
  }

  /** Returns the leader of a partition; undefined while it has none, or does not exist. */
  of({ topic, number }: TopicPartition): Leader | undefined {
    const found = this.#topics.get(topic);
    const partition = found?.partitions[number];
    if (!found || !partition || partition.leader < 0) return undefined;
    return { node: partition.leader, epoch: partition.epoch, topicId: found.id };
  }

  /** Number of partitions of a topic; 0 if it does not exist. */
  count(topic: string): number {
    return this.#topics.get(topic)?.partitions.length ?? 0;
  }

  /** True while a topic is missing, or a partition has no leader. */
  get isIncomplete(): boolean {
    return this.topics.some((topic) => {
      const partitions = this.#topics.get(topic)?.partitions ?? [];
      return partitions.length === 0 || partitions.some(({ leader }) => leader < 0);
    });
  }

  /** Returns the first offset of each log, by partition id; those that are not known are absent. */
  starts(places: readonly TopicPartition[]): Promise<Map<string, number>> {
    return this.#offsets(places, EARLIEST);
  }

  /** @throws if the leader does not answer */
  async boundsOf(place: TopicPartition): Promise<Bounds> {
    const high = await this.#offset(place, LATEST);
    return { low: await this.#offset(place, EARLIEST), high };
  }

  /**
   * Finds where a log departs from what was read of it: at the first record that was appended later
   * than the newest one read, and not behind the end of its epoch.
   * @param last the newest record read; undefined: not known, and the log goes on at its end
   * @throws if the leader does not answer
   */
  async endOfKnown(place: TopicPartition, last: RecordName | undefined): Promise<number> {
    const { low, high } = await this.boundsOf(place);
    if (last === undefined) return high;
    const later = await this.#offset(place, last.timestamp + 1);
    const leader = this.#leaderOf(place);
    const at = { ...place, leaderEpoch: leader.epoch };
    const epoch = await this.brokers.epochEnd(leader.node, at, last.epoch);
    if (!epoch || epoch.errorCode !== 0) {
      throw new Error(`${idOf(place)} has no end of an epoch (error ${String(epoch?.errorCode)})`);
    }
    const ends = [last.offset, high, ...[later, epoch.offset].filter((end) => end >= 0)];
    return Math.max(low, Math.min(...ends));
  }

  async #offset(place: TopicPartition, atMs: number): Promise<number> {
    const leader = this.#leaderOf(place);
    const at = { ...place, leaderEpoch: leader.epoch };
    const [found] = await this.brokers.listOffsets(leader.node, [at], atMs);
    if (!found || found.errorCode !== 0) {
      throw new Error(`${idOf(place)} has no offsets (error ${String(found?.errorCode)})`);
    }
    return found.offset;
  }

  #leaderOf(place: TopicPartition): Leader {
    const leader = this.of(place);
    if (!leader) throw new Error(`${idOf(place)} has no leader`);
    return leader;
  }

  async #offsets(places: readonly TopicPartition[], atMs: number): Promise<Map<string, number>> {
    const byNode = new Map<number, LogPlace[]>();
    for (const place of places) {
      const leader = this.of(place);
      if (!leader) continue;
      const at = { ...place, leaderEpoch: leader.epoch };
      byNode.set(leader.node, [...(byNode.get(leader.node) ?? []), at]);
    }
    const found = new Map<string, number>();
    const asked = [...byNode].map(async ([node, ofNode]) => {
      for (const each of await this.brokers.listOffsets(node, ofNode, atMs)) note(found, each);
    });
    await withTimeout(ANSWER_WITHIN_MS, Promise.allSettled(asked));
    return found;
  }
}

function note(found: Map<string, number>, { topic, number, errorCode, offset }: FoundOffset): void {
  if (errorCode === 0 && offset >= 0) found.set(idOf({ topic, number }), offset);
}
