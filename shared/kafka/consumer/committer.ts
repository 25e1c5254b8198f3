import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type Commit } from './last-commit';
import { Partition, idOf, type TopicPartition } from './partition';
import { type Admin } from 'kafkajs';
import { withTimeout } from '../../runtime/async';
import { type ReadCommitted } from '../client/committed-offsets';
import { type Bounds, readBounds } from '../client/leaderless';

interface Due {
  partition: Partition;
  commit: Commit;
}

/**
 * A crash repeats the records done since the last commit. Fewer records than these wait for a
 * while, because a commit costs the broker and this process as much as a few records.
 */
const FEW_RECORDS = 25;
const FEW_EVERY_MS = 300;

/**
 * Commits changed offsets, one request at a time. The next request repeats the offsets of a failed
 * one.
 */
export class Committer {
  #running: Promise<void> = Promise.resolve();
  /** rounds that run or wait */
  #rounds = 0;
  /** start of the last request */
  #sentAt = -Infinity;

  constructor(
    private readonly options: {
      partitions: () => Iterable<Partition>;
      send: (
        offsets: { topic: string; partition: number; offset: string; metadata: string }[],
      ) => Promise<void>;
      /** called after each round, failed or not */
      after: () => void;
      /** called when the group coordinator has moved, because a commit does not look for it */
      coordinatorMoved: () => void;
      log: Log;
    },
  ) {}

  /**
   * Starts a round, unless another one runs: during a pause of the broker hundreds would queue up
   * behind it.
   * @param nowMs by `performance.now()`; Infinity also commits changes that are not due yet, after
   *   the round that runs
   */
  run(nowMs: number): Promise<void> {
    if (this.#rounds > 0 && nowMs < Infinity) return this.#running;
    this.#rounds++;
    this.#running = this.#running.then(async () => {
      const partitions = [...this.options.partitions()];
      const commits: Due[] = [];
      for (const partition of this.#isDue(partitions, nowMs) ? partitions : []) {
        const commit = partition.commit(nowMs);
        if (commit) commits.push({ partition, commit });
      }
      if (commits.length > 0) {
        if (nowMs < Infinity) this.#sentAt = nowMs;
        await this.#send(commits);
      }
      this.options.after();
      this.#rounds--;
    });
    return this.#running;
  }

  #isDue(partitions: readonly Partition[], nowMs: number): boolean {
    if (nowMs - this.#sentAt >= FEW_EVERY_MS) return true;
    let records = 0;
    for (const partition of partitions) {
      if (partition.draining) return true;
      records += partition.uncommitted;
    }
    return records >= FEW_RECORDS;
  }

  async #send(commits: Due[]): Promise<void> {
    try {
      await this.options.send(
        commits.map(({ partition, commit: { offset, metadata } }) => ({
          topic: partition.topic,
          partition: partition.number,
          offset: String(offset),
          metadata,
        })),
      );
      for (const { partition, commit } of commits) partition.acknowledged(commit);
    } catch (error) {
      this.options.log.warn({ reason: messageOf(error) }, 'commit.failed');
      if (hasCoordinatorMoved(error)) this.options.coordinatorMoved();
    }
  }
}

/**
 * Returns whether an error means that the coordinator has moved. kafkajs looks for the coordinator
 * only when it joins, and keeps using the old one: after a move no offset was committed for more
 * than a minute while records were done.
 */
function hasCoordinatorMoved(error: unknown): boolean {
  const { name, type, cause } = (error ?? {}) as {
    name?: unknown;
    type?: unknown;
    cause?: unknown;
  };
  if (type === 'NOT_COORDINATOR_FOR_GROUP') return true;
  if (typeof name === 'string' && COORDINATOR_ERRORS.has(name)) return true;
  return cause !== undefined && cause !== error && hasCoordinatorMoved(cause);
}

const COORDINATOR_ERRORS = new Set([
  'KafkaJSBrokerNotFound',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
]);

const BOUNDS_MS = 1_000;

/** The start of a new owner. */
export interface Start {
  id: string;
  place: TopicPartition;
  /** the partition as its last owner committed it; `committed` is negative without a commit */
  partition: Partition;
  /** undefined if they are not known within a second */
  bounds: Bounds | undefined;
}

/** The part of Kafka that knows the offsets of a group. */
export interface GroupOffsets {
  admin: Admin;
  readCommitted: ReadCommitted;
  /** the full name of the group */
  groupId: string;
  prefix: string;
}

/** Reads where new owners of partitions start. */
export async function readStarts(
  options: GroupOffsets & { places: readonly TopicPartition[] },
): Promise<Start[]> {
  const { admin, groupId, prefix, places } = options;
  const looks = [options.readCommitted(groupId, places), readKnownBounds(admin, places)] as const;
  const [committed, bounds] = await Promise.all(looks);
  return places.map((place) => {
    const { topic, number } = place;
    const { offset, metadata } = committed.get(idOf(place)) ?? { offset: -1, metadata: '' };
    const partition = new Partition(topic.slice(prefix.length), number, offset, metadata);
    return { id: idOf(place), place, partition, bounds: bounds.get(idOf(place)) };
  });
}

/**
 * Finds where a log continues that was truncated or created again. Records older than the newest
 * one read were read as well, or no longer exist.
 * @returns the offset of the first newer record, and the end
 * @throws while the partition has no leader
 */
export async function readNewer(
  admin: Admin,
  { topic, number }: TopicPartition,
  newestAtMs = Date.now(),
): Promise<{ offset: number; end: number }> {
  const end = (await readBounds(admin, topic)).get(number)?.high;
  const newer = await admin.fetchTopicOffsetsByTimestamp(topic, newestAtMs + 1);
  const found = newer.find(({ partition }) => partition === number);
  if (end === undefined || found === undefined) {
    throw new Error(`partition ${number} of ${topic} has no leader`);
  }
  return { offset: Number(found.offset), end };
}

/**
 * Returns the bounds of partitions by id that are known within a second. A partition without a
 * leader delays no other.
 */
export async function readKnownBounds(
  admin: Admin,
  places: readonly TopicPartition[],
): Promise<Map<string, Bounds>> {
  const known = new Map<string, Bounds>();
  const topics = new Set(places.map(({ topic }) => topic));
  const looks = [...topics].map(async (topic) => {
    for (const [number, bounds] of await readBounds(admin, topic)) {
      known.set(idOf({ topic, number }), bounds);
    }
  });
  await withTimeout(BOUNDS_MS, Promise.allSettled(looks));
  return known;
}
