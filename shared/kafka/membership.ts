import { AssignerProtocol, type ConsumerGroupJoinEvent, type PartitionAssigner } from 'kafkajs';
import { z } from 'zod';
import { type Log } from '../telemetry/log';
import { assignStripes, type Claim } from './assign';
import { type PartitionKeeper } from './port';

/**
 * This process's part in the cooperative assignment (assign.ts): what it claims when it joins, and whether it wants
 * another round. kafkajs has no way to ask for one; an error of the kind that means "the group is rebalancing", thrown
 * where a fetch begins, takes its own way to the next join.
 */

const NAME = 'waypost-cooperative';

const userData = z.object({ owned: z.array(z.int().min(0)), at: z.number(), leaving: z.boolean() });

export class Membership {
  /** stripes assigned in the last round */
  assigned = new Set<number>();
  /** stripes lost in a round and not yet let go */
  draining = new Set<number>();
  /** when it last joined, ms since 1970 */
  joinedAt = 0;
  leaving = false;
  #wantsRound = false;

  /** All that was drained is let go: the others may have it. */
  askForRound(): void {
    this.#wantsRound = true;
  }

  /**
   * There is another assignment. What is kept of a stripe that is lost is claimed until its keeper has let go of it, whether
   * or not there are records of it.
   */
  handOver(before: ReadonlySet<number>, keeper: PartitionKeeper | undefined): void {
    keeper?.own(this.assigned);
    for (const stripe of before) if (!this.assigned.has(stripe) && keeper?.holds(stripe)) this.draining.add(stripe);
  }

  /** Whether something is still kept of what was lost. */
  isHeld(keeper: PartitionKeeper | undefined): boolean {
    return [...this.draining].some((stripe) => keeper?.holds(stripe));
  }

  /** Called where a fetch begins. @throws an error that makes kafkajs join again, where a round is wanted */
  checkRound(): void {
    if (!this.#wantsRound) return;
    throw Object.assign(new Error('another round of assignment is wanted'), {
      type: 'REBALANCE_IN_PROGRESS',
      retriable: true,
    });
  }

  readonly assigner: PartitionAssigner = ({ cluster }) => ({
    name: NAME,
    version: 1,
    protocol: ({ topics }) => {
      // A rebalance that began meanwhile is the round that was wanted.
      this.#wantsRound = false;
      const owned = [...new Set([...this.assigned, ...this.draining])];
      const data = JSON.stringify({ owned, at: this.joinedAt, leaving: this.leaving });
      const metadata = AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(data) });
      return { name: NAME, metadata };
    },
    assign: ({ members, topics }) => {
      const claims = members.map(({ memberId, memberMetadata }) => claimOf(memberId, memberMetadata));
      const counts = topics.map((topic) => ({ topic, count: cluster.findTopicPartitionMetadata(topic).length }));
      const stripes = assignStripes(Math.max(...counts.map(({ count }) => count)), claims);
      return Promise.resolve(
        [...stripes].map(([memberId, numbers]) => {
          const assignment = Object.fromEntries(
            counts.map(({ topic, count }) => [topic, numbers.filter((number) => number < count)]),
          );
          const memberAssignment = AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment,
            userData: Buffer.alloc(0),
          });
          return { memberId, memberAssignment };
        }),
      );
    },
  });
}

function claimOf(memberId: string, memberMetadata: Buffer): Claim {
  const nothing = { owned: [], at: 0, leaving: false };
  const decoded = AssignerProtocol.MemberMetadata.decode(memberMetadata);
  const text = decoded?.userData.toString() ?? '';
  try {
    const parsed = userData.safeParse(JSON.parse(text));
    return { memberId, ...(parsed.success ? parsed.data : nothing) };
  } catch {
    // A member of another kind claims nothing: it gets its share of what is free.
    return { memberId, ...nothing };
  }
}

/** Tells of each round of a group. Joining again changes nothing as a rule (a first start joins twenty times in two seconds). */
export function reportAssignments(log: Log): (payload: ConsumerGroupJoinEvent['payload']) => void {
  let last = '';
  return ({ groupId, memberAssignment }) => {
    const assignment = JSON.stringify(memberAssignment);
    const level = assignment === last ? 'debug' : 'info';
    log[level]({ group: groupId, assignment: memberAssignment }, 'consumer.assigned');
    last = assignment;
  };
}
