import { AssignerProtocol, type ConsumerGroupJoinEvent, type PartitionAssigner } from 'kafkajs';
import { z } from 'zod';
import { type Log } from '../../telemetry/log';
import { joinAgain } from './consumer-fetches';
import { type ConsumerCommands } from './restarting-consumer';
import { assignPlaces, type Member } from '../consumer/cooperative-assignor';
import { idOf, type TopicPartition } from '../consumer/partition';
import { ReturningMembers } from '../consumer/returning-members';

/**
 * Takes part in the cooperative assignment (cooperative-assignor.ts) for this process: it claims
 * partitions when it joins, and asks for another round, that is, another rebalance. kafkajs has no
 * function that requests one: this class throws the error "the group is rebalancing" at the start of
 * a fetch, and kafkajs then joins again.
 *
 * Invariant: a revoked partition is claimed until it is released, whether or not any record of it
 * was read or committed. The release of the last one asks for the next round, because the leader
 * assigned claimed partitions to no member. Members that release partitions at about the same time
 * share that round.
 */

const NAME = 'waypost-cooperative';

/**
 * After an assignment that left partitions to no member, the leader asks for another round itself,
 * in case their owner never does. The wait is longer than an owner needs to release the deliveries
 * of
 * fast endpoints. It doubles each time, since a slow endpoint needs its request timeout and each
 * round pauses all members.
 */
const FIRST_ASK_MS = 2_000;
const LONGEST_ASK_MS = 30_000;

/**
 * A member that has released its partitions asks for a round at the first of 50, 100, 200 ... ms
 * after their revocation, and within a second. So members that release partitions at about the same
 * time share a round, which pauses the whole group.
 */
const FIRST_RELEASE_MS = 50;
const LONGEST_RELEASE_MS = 1_000;

const numbers = z.array(z.int().min(0));
const userData = z.object({
  places: z.record(z.string(), numbers),
  at: z.number(),
  leaving: z.boolean(),
  generation: z.int().optional(),
});

export class Membership {
  /** partitions assigned in the last round, by id */
  assigned: ReadonlyMap<string, TopicPartition> = new Map();
  /** their numbers */
  copartitions: ReadonlySet<number> = new Set();
  /** revoked partitions that are not released yet, by id */
  readonly draining = new Map<string, TopicPartition>();
  /** generation of the group at the last heartbeat; undefined: not known in this session */
  generation: number | undefined;
  leaving = false;
  #joinedAt = 0;
  /** when this member asks for a round, by `performance.now()` */
  #wantsRoundAt = Infinity;
  /** when the partitions that it drains were revoked, by `performance.now()` */
  #drainsSince = 0;
  /**
   * as leader: when it asks for a round because partitions have no owner, by `performance.now()`
   */
  #asksAt = Infinity;
  #askMs = FIRST_ASK_MS;
  readonly #returning = new ReturningMembers();

  /** Notes the answer to a heartbeat. */
  onHeartbeat(generation: number): void {
    this.generation = generation;
    this.#returning.onHeartbeat();
  }

  /**
   * Returns the part of an assignment to read now: after a pause of the broker, others may return
   * to their partitions.
   */
  accept(
    places: ReadonlyMap<string, TopicPartition>,
    orders: Pick<ConsumerCommands, 'pause' | 'resume'>,
  ) {
    const had = [...this.assigned.keys(), ...this.draining.keys()];
    const { taken, restAt } = this.#returning.divide(places, had, orders);
    this.#wantsRoundAt = Math.min(this.#wantsRoundAt, restAt);
    return taken;
  }

  /** Makes the next fetch join again. */
  askForRound(): void {
    this.#wantsRoundAt = 0;
  }

  /** Asks for a round soon, in which others can get the released partitions. */
  released(): void {
    const now = performance.now();
    const doublings = Math.max(
      0,
      Math.ceil(Math.log2((now - this.#drainsSince) / FIRST_RELEASE_MS)),
    );
    const at = Math.min(
      this.#drainsSince + FIRST_RELEASE_MS * 2 ** doublings,
      now + LONGEST_RELEASE_MS,
    );
    this.#wantsRoundAt = Math.min(this.#wantsRoundAt, at);
  }

  /**
   * Applies an assignment.
   * @param sameSession false: others may have owned its partitions since, so that it claims none of
   *   the last assignment
   */
  enter(places: ReadonlyMap<string, TopicPartition>, sameSession: boolean): void {
    if (!sameSession) {
      this.draining.clear();
      // A claim of the old session may have kept a partition from all other members.
      if ([...this.assigned.keys()].some((id) => !places.has(id))) this.askForRound();
      this.generation = undefined;
    } else {
      if (this.draining.size === 0) this.#drainsSince = performance.now();
      for (const [id, place] of this.assigned) if (!places.has(id)) this.draining.set(id, place);
      for (const id of places.keys()) this.draining.delete(id);
      if (this.generation !== undefined) this.generation++;
    }
    this.assigned = places;
    this.copartitions = new Set([...places.values()].map(({ number }) => number));
    this.#joinedAt = Date.now();
  }

  /**
   * True if this leader's last assignment left partitions to no member, and their owners have had
   * time to ask.
   */
  get leaderAsks(): boolean {
    return !this.leaving && performance.now() >= this.#asksAt;
  }

  /**
   * Call at the start of each fetch. @throws an error that makes kafkajs join again, if a round is
   * wanted
   */
  checkRound(): void {
    if (performance.now() < this.#wantsRoundAt && !this.leaderAsks) return;
    throw joinAgain('another round of assignment is requested');
  }

  readonly assigner: PartitionAssigner = ({ cluster }) => ({
    name: NAME,
    version: 1,
    protocol: ({ topics }) => {
      // A rebalance that has begun is the wanted round.
      this.#wantsRoundAt = Infinity;
      this.#asksAt = Infinity;
      return { name: NAME, metadata: this.#metadata(topics) };
    },
    assign: async ({ members }) => {
      const joining = members.map(({ memberId, memberMetadata }) =>
        memberOf(memberId, memberMetadata),
      );
      const counts = await countPartitions(
        cluster,
        new Set(joining.flatMap(({ topics }) => topics)),
      );
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

  /** Returns the claims of this member. */
  #metadata(topics: string[]): Buffer {
    const places: Record<string, number[]> = {};
    const claimed = new Map([...this.assigned, ...this.draining]);
    for (const { topic, number } of claimed.values()) (places[topic] ??= []).push(number);
    const { leaving, generation } = this;
    const said: z.infer<typeof userData> = { places, at: this.#joinedAt, leaving, generation };
    const data = JSON.stringify(said);
    return AssignerProtocol.MemberMetadata.encode({
      version: 1,
      topics,
      userData: Buffer.from(data),
    });
  }

  /** Asks for another round after a while, if this one leaves partitions to no member. */
  #askAgain(
    counts: ReadonlyMap<string, number>,
    places: ReadonlyMap<string, Record<string, number[]>>,
  ): void {
    const given = [...places.values()].flatMap((assignment) =>
      Object.values(assignment).flat(),
    ).length;
    const known = [...counts.values()].every((count) => count > 0);
    if (known && given === [...counts.values()].reduce((sum, count) => sum + count, 0)) {
      this.#askMs = FIRST_ASK_MS;
      return;
    }
    this.#asksAt = performance.now() + this.#askMs;
    this.#askMs = Math.min(LONGEST_ASK_MS, this.#askMs * 2);
  }
}

/**
 * Decodes the metadata with which a member joined. A member of another kind claims no partitions.
 */
export function memberOf(memberId: string, memberMetadata: Buffer): Member {
  // The broker describes the members of a group without their metadata while it rebalances.
  const decoded =
    memberMetadata.length > 0 ? AssignerProtocol.MemberMetadata.decode(memberMetadata) : null;
  const topics = decoded?.topics ?? [];
  const said = readUserData(decoded?.userData.toString() ?? '');
  const { places = {}, at = 0, leaving = false, generation } = said ?? {};
  return { memberId, topics, places, at, leaving, generation };
}

function readUserData(text: string): z.infer<typeof userData> | undefined {
  try {
    return userData.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Cluster = Parameters<PartitionAssigner>[0]['cluster'];

/**
 * Counts the partitions of all topics that members read. This process may not know some of these
 * topics yet.
 */
async function countPartitions(
  cluster: Cluster,
  topics: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const topic of topics) {
    // An error here would make kafkajs end the consumer. A deleted topic, or a forbidden one, has
    // no partitions.
    const known = cluster.addTargetTopic(topic);
    await known.catch(() => undefined);
    counts.set(topic, cluster.findTopicPartitionMetadata(topic).length);
  }
  return counts;
}

/** Indexes an assignment of kafkajs by id. */
export function topicPartitionsOf(
  assignment: Record<string, number[]>,
): Map<string, TopicPartition> {
  const places = Object.entries(assignment).flatMap(([topic, numbers]) =>
    numbers.map((number) => ({ topic, number })),
  );
  return new Map(places.map((place) => [idOf(place), place]));
}

/**
 * Logs each round of a group. Most rounds change nothing (a first start joins twenty times in two
 * seconds).
 */
export function reportAssignments(log: Log): (payload: ConsumerGroupJoinEvent['payload']) => void {
  let last = '';
  return ({ groupId, memberAssignment }) => {
    const assignment = JSON.stringify(memberAssignment);
    const level = assignment === last ? 'debug' : 'info';
    log[level]({ group: groupId, assignment: memberAssignment }, 'consumer.assigned');
    last = assignment;
  };
}
