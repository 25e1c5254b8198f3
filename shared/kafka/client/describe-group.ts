import { type Admin } from 'kafkajs';
import { memberOf, topicPartitionsOf } from '../consumer/membership';
import { type GroupView } from '../consumer/unassigned-lag';
import { ByteReader } from '../protocol/bytes';
import { decodeAssignment } from '../protocol/group-requests';

/** Asks about a consumer group from outside: what its members read, and what it has committed. */

/** @returns undefined while the group is between two assignments */
export async function describeGroup(admin: Admin, groupId: string): Promise<GroupView | undefined> {
  const { groups } = await admin.describeGroups([groupId]);
  const [group] = groups;
  if (group?.state !== 'Stable') return undefined;
  const members = group.members.map(({ memberId, memberMetadata, memberAssignment }) => {
    const { topics } = memberOf({ memberId, metadata: memberMetadata });
    const assignment = decodeAssignment(new ByteReader(memberAssignment));
    // A member does not read topics to which it has not subscribed.
    const read = Object.entries(assignment).filter(([topic]) => topics.includes(topic));
    return { memberId, places: topicPartitionsOf(Object.fromEntries(read)) };
  });
  return { members };
}

/** Returns the committed offset of each partition, 0 without a commit. */
export async function readCommittedOffsets(
  admin: Admin,
  groupId: string,
  topic: string,
): Promise<number[]> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const offsets = [...(found?.partitions ?? [])].sort((a, b) => a.partition - b.partition);
  return offsets.map(({ offset }) => Math.max(0, Number(offset)));
}
