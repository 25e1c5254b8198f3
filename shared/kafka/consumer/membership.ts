import { AssignerProtocol, type ConsumerGroupJoinEvent, type PartitionAssigner } from 'kafkajs';
import { z } from 'zod';
import { type Log } from '../../telemetry/log';
import { assignPlaces, type Member } from './cooperative-assignor';
import { type TopicPartition } from './committed-offsets';

/**
 * Takes part in the cooperative assignment (cooperative-assignor.ts) for this process: what it claims when it joins, and whether it wants
 * another round. kafkajs has no way to ask for one; an error of the kind that means "the group is rebalancing", thrown
 * where a fetch begins, makes it join again.
 *
 * Invariant: a partition that a round takes away is claimed until it is let go, whether or not anything of it was ever
 * read or committed, and the last one let go asks for the next round: the leader gave it to no member, because it was claimed.
 */

const NAME = 'waypost-cooperative';

/**
 * The leader asks for another round itself where its assignment left partitions to no member, in case their owner never
 * does (members of older versions forget to). Longer than an owner needs to let go of fast endpoints' deliveries; doubled each
 * time, since a slow one needs its request timeout and each round makes all members pause.
 */
const FIRST_ASK_MS = 2_000;
const LONGEST_ASK_MS = 30_000;

const numbers = z.array(z.int().min(0));
const userData = z.object({
  owned: numbers,
  at: z.number(),
  leaving: z.boolean(),
  generation: z.int().optional(),
  places: z.record(z.string(), numbers).optional(),
});

export class Membership {
  /** partitions assigned in the last round, by id */
  assigned: ReadonlyMap<string, TopicPartition> = new Map();
  /** the numbers of these */
  copartitions: ReadonlySet<number> = new Set();
  /** partitions lost in a round and not yet let go, by id */
  readonly draining = new Map<string, TopicPartition>();
  /** the group's, as of the last heartbeat; undefined: not known in this session */
  generation: number | undefined;
  leaving = false;
  #joinedAt = 0;
  #wantsRound = false;
  /** as leader: when it asks for a round because partitions are without an owner, by `performance.now()` */
  #asksAt = Infinity;
  #askMs = FIRST_ASK_MS;

  /** Makes the next fetch join again: what was drained is let go, and others may have it. */
  askForRound(): void {
    this.#wantsRound = true;
  }

  /**
   * Takes over an assignment.
   * @param sameSession false: others may have had its partitions since, so that nothing of the last assignment is claimed
   */
  enter(places: ReadonlyMap<string, TopicPartition>, sameSession: boolean): void {
    if (!sameSession) {
      this.draining.clear();
      // A claim of the old session may have kept a partition from everybody else.
      if ([...this.assigned.keys()].some((id) => !places.has(id))) this.askForRound();
      this.generation = undefined;
    } else {
      for (const [id, place] of this.assigned) if (!places.has(id)) this.draining.set(id, place);
      for (const id of places.keys()) this.draining.delete(id);
      if (this.generation !== undefined) this.generation++;
    }
    this.assigned = places;
    this.copartitions = new Set([...places.values()].map(({ number }) => number));
    this.#joinedAt = Date.now();
  }

  /** Whether this leader's last assignment left partitions to no member, and their owners have had time to ask. */
  get leaderAsks(): boolean {
    return !this.leaving && performance.now() >= this.#asksAt;
  }

  /** Called where a fetch begins. @throws an error that makes kafkajs join again, where a round is wanted */
  checkRound(): void {
    if (!this.#wantsRound && !this.leaderAsks) return;
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
      this.#asksAt = Infinity;
      return { name: NAME, metadata: this.#metadata(topics) };
    },
    assign: async ({ members }) => {
      const joining = members.map(({ memberId, memberMetadata }) => memberOf(memberId, memberMetadata));
      const counts = await countPartitions(cluster, new Set(joining.flatMap(({ topics }) => topics)));
      const places = assignPlaces(counts, joining);
      this.#askAgain(counts, places);
      return [...places].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 1,
          assignment,
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });

  /** `owned` is for leaders of older versions, which know stripes alone. */
  #metadata(topics: string[]): Buffer {
    const places: Record<string, number[]> = {};
    const claimed = new Map([...this.assigned, ...this.draining]);
    for (const { topic, number } of claimed.values()) (places[topic] ??= []).push(number);
    const owned = [...new Set([...claimed.values()].map(({ number }) => number))];
    const { leaving, generation } = this;
    const data = JSON.stringify({ owned, at: this.#joinedAt, leaving, generation, places });
    return AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(data) });
  }

  /** Asks for another round after a while, where this one leaves partitions to no member. */
  #askAgain(counts: ReadonlyMap<string, number>, places: ReadonlyMap<string, Record<string, number[]>>): void {
    const given = [...places.values()].flatMap((assignment) => Object.values(assignment).flat()).length;
    const known = [...counts.values()].every((count) => count > 0);
    if (known && given === [...counts.values()].reduce((sum, count) => sum + count, 0)) {
      this.#askMs = FIRST_ASK_MS;
      return;
    }
    this.#asksAt = performance.now() + this.#askMs;
    this.#askMs = Math.min(LONGEST_ASK_MS, this.#askMs * 2);
  }
}

/** What a member said when it joined, as far as this version understands it. */
export function memberOf(memberId: string, memberMetadata: Buffer): Member & { current: boolean } {
  const decoded = AssignerProtocol.MemberMetadata.decode(memberMetadata);
  const topics = decoded?.topics ?? [];
  const said = readUserData(decoded?.userData.toString() ?? '');
  // A member of an older version has its stripes in all topics that it reads; one of another kind claims nothing.
  const places = said?.places ?? Object.fromEntries(topics.map((topic) => [topic, said?.owned ?? []]));
  const { at = 0, leaving = false, generation } = said ?? {};
  return { memberId, topics, places, at, leaving, generation, current: said?.places !== undefined };
}

function readUserData(text: string): z.infer<typeof userData> | undefined {
  try {
    return userData.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Cluster = Parameters<PartitionAssigner>[0]['cluster'];

/** Counts the partitions of all topics that some member reads. This process may not have asked for some of them before. */
async function countPartitions(cluster: Cluster, topics: ReadonlySet<string>): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const topic of topics) {
    // kafkajs ends the consumer where this throws. A topic that was deleted, or may not be read here, has no partitions.
    const known = cluster.addTargetTopic(topic);
    await known.catch(() => undefined);
    counts.set(topic, cluster.findTopicPartitionMetadata(topic).length);
  }
  return counts;
}

/** Logs each round of a group. Joining again changes nothing as a rule (a first start joins twenty times in two seconds). */
export function reportAssignments(log: Log): (payload: ConsumerGroupJoinEvent['payload']) => void {
  let last = '';
  return ({ groupId, memberAssignment }) => {
    const assignment = JSON.stringify(memberAssignment);
    const level = assignment === last ? 'debug' : 'info';
    log[level]({ group: groupId, assignment: memberAssignment }, 'consumer.assigned');
    last = assignment;
  };
}
