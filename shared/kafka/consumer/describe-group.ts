import { AssignerProtocol, type Admin, type ConsumerGroupJoinEvent } from 'kafkajs';
import { messageOf } from '../../service/errors';
import { type Log } from '../../telemetry/log';
import { idOf, type TopicPartition, topicPartitionsOf } from './committed-offsets';
import { memberOf, type Membership } from './membership';

/** Describes a consumer group from outside: which partitions each member reads, and which have no reader. */

export interface GroupView {
  members: {
    memberId: string;
    /** its subscription, full names */
    topics: readonly string[];
    /** true if it runs this version or a newer one */
    current: boolean;
    /** partitions assigned to it, by id */
    places: ReadonlyMap<string, TopicPartition>;
  }[];
}

/** @returns undefined while the group is between two assignments */
export async function describeGroup(admin: Admin, groupId: string): Promise<GroupView | undefined> {
  const { groups } = await admin.describeGroups([groupId]);
  const [group] = groups;
  if (group?.state !== 'Stable') return undefined;
  const members = group.members.map(({ memberId, memberMetadata, memberAssignment }) => {
    const { topics, current } = memberOf(memberId, memberMetadata);
    const { assignment = {} } = AssignerProtocol.MemberAssignment.decode(memberAssignment) ?? {};
    // kafkajs does not read topics to which it has not subscribed.
    const read = Object.entries(assignment).filter(([topic]) => topics.includes(topic));
    return { memberId, topics, current, places: topicPartitionsOf(Object.fromEntries(read)) };
  });
  return { members };
}

/** Returns the partitions of these topics that no member reads. @param counts partitions of each topic */
export function unreadPlaces({ members }: GroupView, counts: ReadonlyMap<string, number>): TopicPartition[] {
  const read = new Set(members.flatMap(({ places }) => [...places.keys()]));
  return [...counts].flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, number) => ({ topic, number })).filter((place) => !read.has(idOf(place))),
  );
}

/**
 * A leader of this version asks for another round itself when it left partitions to no member (membership.ts). This is
 * longer than that leader waits, and than most groups need for a change.
 */
const DOUBT_MS = 3_000;

/** Asks for another round in place of a leader of an older version, which does not ask when partitions have no reader. */
export class LeaderCheck {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: { admin: Admin; groupId: string; membership: Membership; log: Log }) {}

  /** Call after each round. */
  entered({ isLeader, leaderId }: ConsumerGroupJoinEvent['payload']): void {
    this.stop();
    if (!isLeader && !this.parts.membership.leaving) this.#lookLater(leaderId);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #lookLater(leaderId: string): void {
    this.#timer = setTimeout(() => void this.#look(leaderId), DOUBT_MS);
  }

  async #look(leaderId: string): Promise<void> {
    const { admin, groupId, membership, log } = this.parts;
    try {
      const view = await describeGroup(admin, groupId);
      const leader = view?.members.find(({ memberId }) => memberId === leaderId);
      if (!view || !leader || leader.current) return;
      // The leader knows no other topics, so another round would not help them.
      const { topics } = await admin.fetchTopicMetadata({ topics: [...leader.topics] });
      const unread = unreadPlaces(view, new Map(topics.map(({ name, partitions }) => [name, partitions.length])));
      if (unread.length > 0 && !membership.leaving) membership.askForRound();
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'group.not_described');
      if (!membership.leaving) this.#lookLater(leaderId);
    }
  }
}
