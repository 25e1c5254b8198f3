import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';
import { assignCopartitions } from '../../../../shared/kafka/consumer/cooperative-assignor';
import { type TopicPartition } from '../../../../shared/kafka/consumer/partition';
import { Membership } from '../../../../shared/kafka/consumer/membership';

/**
 * A member as it was first in version 0.1.0: it claims only co-partitions, assigns its own topics
 * to all members, and does not ask for a round after losing partitions without a read record or a
 * commit.
 */
export class OldMembership extends Membership {
  #joinedAt = 0;
  #wantsRound = false;

  /** @param adopted returns whether it has read from a partition, or knows a commit of it */
  constructor(private readonly adopted: (id: string) => boolean) {
    super();
  }

  override askForRound(): void {
    this.#wantsRound = true;
  }

  override released(): void {
    this.askForRound();
  }

  override accept(
    places: ReadonlyMap<string, TopicPartition>,
  ): ReadonlyMap<string, TopicPartition> {
    return places;
  }

  override enter(places: ReadonlyMap<string, TopicPartition>, sameSession: boolean): void {
    super.enter(places, sameSession);
    this.#joinedAt = Date.now();
    for (const id of this.draining.keys()) if (!this.adopted(id)) this.draining.delete(id);
  }

  override checkRound(): void {
    if (this.#wantsRound) {
      throw Object.assign(new Error('round'), { type: 'REBALANCE_IN_PROGRESS' });
    }
  }

  override readonly assigner: PartitionAssigner = ({ cluster }) => ({
    name: 'waypost-cooperative',
    version: 1,
    protocol: ({ topics }) => {
      this.#wantsRound = false;
      const claimed = [...this.assigned.values(), ...this.draining.values()].map(
        ({ number }) => number,
      );
      const data = JSON.stringify({
        owned: [...new Set(claimed)],
        at: this.#joinedAt,
        leaving: this.leaving,
      });
      const userData = Buffer.from(data);
      const metadata = AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData });
      return { name: 'waypost-cooperative', metadata };
    },
    assign: ({ members, topics }) => {
      const claims = members.map(({ memberId, memberMetadata }) => {
        const said = AssignerProtocol.MemberMetadata.decode(memberMetadata)!.userData.toString();
        const { owned, at, leaving } = JSON.parse(said) as {
          owned: number[];
          at: number;
          leaving: boolean;
        };
        return { memberId, owned, at, leaving };
      });
      const counts = topics.map((topic) => ({
        topic,
        count: cluster.findTopicPartitionMetadata(topic).length,
      }));
      const copartitions = assignCopartitions(
        Math.max(...counts.map(({ count }) => count)),
        claims,
      );
      return Promise.resolve(
        [...copartitions].map(([memberId, numbers]) => {
          const assignment = Object.fromEntries(
            counts.map(({ topic, count }) => [topic, numbers.filter((number) => number < count)]),
          );
          const parts = { version: 1, assignment, userData: Buffer.alloc(0) };
          return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(parts) };
        }),
      );
    },
  });
}
