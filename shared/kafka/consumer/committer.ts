import { messageOf } from '../../service/errors';
import { type Log } from '../../telemetry/log';
import { type Commit, Partition, idOf, type TopicPartition } from './partition';
import { type Admin } from 'kafkajs';
import { withTimeout } from '../../service/async';
import { type Bounds, readBounds } from '../kafkajs/leaderless';

/** Commits changed offsets, one request at a time. The next request repeats the offsets of a failed one. */
export class Committer {
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly options: {
      partitions: () => Iterable<Partition>;
      send: (offsets: { topic: string; partition: number; offset: string; metadata: string }[]) => Promise<void>;
      /** called after each round, failed or not */
      after: () => void;
      /** called when the group coordinator has moved, because a commit does not look for it */
      coordinatorMoved: () => void;
      log: Log;
    },
  ) {}

  /** @param nowMs by `performance.now()`; Infinity also commits changes that are not due yet */
  run(nowMs: number): Promise<void> {
    this.#running = this.#running.then(async () => {
      const commits = [...this.options.partitions()].flatMap((partition) => partition.commit(nowMs) ?? []);
      if (commits.length > 0) await this.#send(commits);
      this.options.after();
    });
    return this.#running;
  }

  async #send(commits: Commit[]): Promise<void> {
    try {
      await this.options.send(
        commits.map(({ partition, offset, metadata }) => ({
          topic: partition.topic,
          partition: partition.number,
          offset: String(offset),
          metadata,
        })),
      );
      for (const commit of commits) commit.partition.acknowledged(commit);
    } catch (error) {
      this.options.log.warn({ reason: messageOf(error) }, 'commit.failed');
      if (hasCoordinatorMoved(error)) this.options.coordinatorMoved();
    }
  }
}

/**
 * Returns whether an error means that the coordinator has moved. kafkajs looks for the coordinator only when it joins,
 * and keeps using the old one: after a move no offset was committed for more than a minute while records were done.
 */
function hasCoordinatorMoved(error: unknown): boolean {
  const { name, type, cause } = (error ?? {}) as { name?: unknown; type?: unknown; cause?: unknown };
  if (type === 'NOT_COORDINATOR_FOR_GROUP') return true;
  if (typeof name === 'string' && COORDINATOR_ERRORS.has(name)) return true;
  return cause !== undefined && cause !== error && hasCoordinatorMoved(cause);
}

const COORDINATOR_ERRORS = new Set(['KafkaJSBrokerNotFound', 'KafkaJSConnectionError', 'KafkaJSConnectionClosedError']);

const BOUNDS_MS = 1_000;

/** Returns the partitions as their last owner committed them; `committed` is negative without a commit. */
export async function readCommitted(options: {
  admin: Admin;
  groupId: string;
  prefix: string;
  places: readonly TopicPartition[];
}): Promise<Partition[]> {
  const { admin, groupId, prefix, places } = options;
  // Without topics, for all that the group has: for named topics kafkajs requests metadata one topic after the other.
  const topics = await admin.fetchOffsets({ groupId });
  return places.map(({ topic, number }) => {
    const found = topics.find((t) => t.topic === topic)?.partitions.find((p) => p.partition === number);
    return new Partition(topic.slice(prefix.length), number, Number(found?.offset ?? -1), found?.metadata ?? '');
  });
}

/** Returns the bounds of partitions by id that are known within a second. A partition without a leader delays no other. */
export async function readKnownBounds(admin: Admin, places: readonly TopicPartition[]): Promise<Map<string, Bounds>> {
  const known = new Map<string, Bounds>();
  const topics = new Set(places.map(({ topic }) => topic));
  const looks = [...topics].map(async (topic) => {
    for (const [number, bounds] of await readBounds(admin, topic)) known.set(idOf({ topic, number }), bounds);
  });
  await withTimeout(BOUNDS_MS, Promise.allSettled(looks));
  return known;
}
