import { type Admin } from 'kafkajs';
import { withTimeout } from '../../service/async';
import { type Bounds, readBounds } from '../leader-retry';
import { Partition } from './partition';

const BOUNDS_MS = 1_000;

/** A partition with its full topic name, as in kafkajs. */
export interface TopicPartition {
  topic: string;
  number: number;
}

export function idOf({ topic, number }: TopicPartition): string {
  return `${topic}/${String(number)}`;
}

/** Indexes an assignment of kafkajs by id. */
export function topicPartitionsOf(assignment: Record<string, number[]>): Map<string, TopicPartition> {
  const places = Object.entries(assignment).flatMap(([topic, numbers]) => numbers.map((number) => ({ topic, number })));
  return new Map(places.map((place) => [idOf(place), place]));
}

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
