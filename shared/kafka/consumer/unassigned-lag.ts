import { type InRecord } from '../port';
import { type CommittedPartition } from '../protocol/group-requests';
import { type RecordPlace } from '../scan';
import { type Bounds } from './leaders';
import { idOf, type TopicPartition } from './partition';

/** Which partitions of a group have no reader, and their lag, which no process counts. */

export interface GroupView {
  members: {
    memberId: string;
    /** partitions assigned to it, by id */
    places: ReadonlyMap<string, TopicPartition>;
  }[];
}

/**
 * Returns the partitions of these topics that no member reads. @param counts partitions of each
 * topic
 */
export function unreadPlaces(
  { members }: GroupView,
  counts: ReadonlyMap<string, number>,
): TopicPartition[] {
  const read = new Set(members.flatMap(({ places }) => [...places.keys()]));
  return [...counts].flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, number) => ({ topic, number })).filter(
      (place) => !read.has(idOf(place)),
    ),
  );
}

/** The partitions of one topic without a reader. */
export interface UnassignedLag {
  partitions: number;
  /** records that the group has not finished */
  lag: number;
  /** append time of the oldest of them, ms since 1970; undefined if there is none */
  oldestAtMs: number | undefined;
}

export interface GroupReads {
  /** returns the members of the group; undefined while it is between two assignments */
  describe: () => Promise<GroupView | undefined>;
  /** @throws if the coordinator does not answer */
  readCommitted: (places: readonly TopicPartition[]) => Promise<CommittedPartition[]>;
  prefix: string;
  memberId: () => string;
  /** returns the number of partitions of a topic, by its full name */
  count: (topic: string) => number;
  recordAt: (at: RecordPlace) => Promise<InRecord | undefined>;
}

/**
 * Records are looked up one by one, and a group without members may have hundreds of partitions.
 */
const MOST_LOOKED_UP = 24;

/**
 * Returns the unread partitions of each topic, with their lag. Only one member counts the lag, so
 * that sums over processes are right; each member reports the number of partitions.
 * @param bounds by topic, without prefix, and partition; the lag of a partition without bounds is
 *   not counted
 * @returns by topic; undefined if no bounds are known, or the group is between two assignments
 */
export async function readUnassignedLag(
  parts: GroupReads,
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
): Promise<Map<string, UnassignedLag> | undefined> {
  const { prefix } = parts;
  const view = bounds.size > 0 ? await parts.describe() : undefined;
  if (!view) return undefined;
  const names = [...bounds.keys()].map((topic) => prefix + topic);
  const places = unreadPlaces(view, new Map(names.map((name) => [name, parts.count(name)])));
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
    waiting.slice(0, MOST_LOOKED_UP).map(async ({ topic, partition, offset }) => {
      // The record of a partition that has no leader cannot be read.
      const record = await parts.recordAt({ topic, partition, offset }).catch(() => undefined);
      const [unread, at] = [result.get(topic), record?.timestampMs];
      if (unread && at !== undefined) unread.oldestAtMs = Math.min(unread.oldestAtMs ?? at, at);
    }),
  );
  return result;
}

/**
 * Returns the partitions with records that the group has not finished, and the offset of the first.
 */
async function findWaiting(
  { readCommitted, prefix }: GroupReads,
  places: readonly TopicPartition[],
  bounds: ReadonlyMap<string, ReadonlyMap<number, Bounds>>,
) {
  const committed = new Map(
    (await readCommitted(places)).map(({ topic, partition: number, offset }) => {
      return [idOf({ topic, number }), offset];
    }),
  );
  return places.flatMap((place) => {
    const topic = place.topic.slice(prefix.length);
    const known = bounds.get(topic)?.get(place.number);
    if (known === undefined) return [];
    const { low, high } = known;
    const offset = Math.max(low, committed.get(idOf(place)) ?? 0);
    return high > offset ? [{ topic, partition: place.number, offset, lag: high - offset }] : [];
  });
}
