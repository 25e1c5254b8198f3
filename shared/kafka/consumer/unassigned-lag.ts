import { type Admin } from 'kafkajs';
import { idOf, type TopicPartition } from './committed-offsets';
import { describeGroup, unreadPlaces } from './describe-group';

/** Finds what waits in partitions that no member of a group reads, for metrics: no process counts them as its own. */

/** The partitions of one topic without a reader. */
export interface UnassignedLag {
  partitions: number;
  /** records that the group has not done */
  lag: number;
  /** when the oldest of these was appended, ms since 1970; undefined where there is none */
  oldestAtMs: number | undefined;
}

/** First and last offset of a partition. */
export interface Bounds {
  low: number;
  /** the next record's */
  high: number;
}

interface Parts {
  admin: Admin;
  /** the whole name of the group */
  groupId: string;
  prefix: string;
  memberId: () => string;
  /** when the record at this offset was appended, ms since 1970; undefined where there is none */
  appendedAt: (place: TopicPartition, offset: number) => Promise<number | undefined>;
}

/** Records are looked up one by one: of a group without any member there may be hundreds. */
const MOST_LOOKED_UP = 24;

/**
 * One member counts the records, so that sums over processes are right; each says how many partitions it is about.
 * @param bounds of each partition of the topics, without prefix
 * @returns by topic; undefined while the group is between two assignments
 */
export async function readUnassignedLag(
  parts: Parts,
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
): Promise<Map<string, UnassignedLag> | undefined> {
  const { admin, groupId, prefix } = parts;
  const view = await describeGroup(admin, groupId);
  if (!view) return undefined;
  const places = unreadPlaces(view, new Map([...bounds].map(([topic, { size }]) => [prefix + topic, size])));
  const result = new Map<string, UnassignedLag>();
  for (const { topic } of places) {
    const name = topic.slice(prefix.length);
    const partitions = (result.get(name)?.partitions ?? 0) + 1;
    result.set(name, { partitions, lag: 0, oldestAtMs: undefined });
  }
  const [first] = view.members.map(({ memberId }) => memberId).sort();
  if (places.length === 0 || first !== parts.memberId()) return result;
  const waiting = await findWaiting(parts, places, bounds);
  for (const { topic, lag } of waiting) {
    const unread = result.get(topic);
    if (unread) unread.lag += lag;
  }
  await Promise.all(
    waiting.slice(0, MOST_LOOKED_UP).map(async ({ topic, place, offset }) => {
      const [unread, at] = [result.get(topic), await parts.appendedAt(place, offset)];
      if (unread && at !== undefined) unread.oldestAtMs = Math.min(unread.oldestAtMs ?? at, at);
    }),
  );
  return result;
}

/** Those of the partitions that hold records which the group has not done, and from where on. */
async function findWaiting(
  { admin, groupId, prefix }: Parts,
  places: readonly TopicPartition[],
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
) {
  const committed = new Map<string, number>();
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId })) {
    for (const { partition, offset } of partitions) committed.set(idOf({ topic, number: partition }), Number(offset));
  }
  return places.flatMap((place) => {
    const topic = place.topic.slice(prefix.length);
    const { low = 0, high = 0 } = bounds.get(topic)?.get(place.number) ?? {};
    const offset = Math.max(low, committed.get(idOf(place)) ?? 0);
    return high > offset ? [{ topic, place, offset, lag: high - offset }] : [];
  });
}
