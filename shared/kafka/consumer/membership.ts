import { z } from 'zod';
import { type Log } from '../../telemetry/log';
import { ByteReader } from '../protocol/bytes';
import {
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  type JoinedMember,
  type MemberAssignment,
} from '../protocol/group-requests';
import { assignPlaces, type Member } from './cooperative-assignor';
import { idOf, type TopicPartition } from './partition';

/**
 * Takes part in the cooperative assignment (cooperative-assignor.ts) for this process: it claims
 * partitions when it joins, and says when another round, that is, another rebalance, is wanted.
 *
 * Invariant: a revoked partition is claimed until it is released, whether or not any record of it
 * was read or committed. The release of the last one asks for the next round, because the leader
 * assigned claimed partitions to no member. Members that release partitions at about the same time
 * share that round.
 */

export const ASSIGNOR = 'waypost-cooperative';

/**
 * The session timeout: a member that sends no heartbeat for this time is removed from its group,
 * and a killed process holds its partitions for this time.
 */
export const SESSION_MS = 6_000;

/**
 * After a pause of the broker all sessions have ended, and the first member to join again is
 * assigned the partitions of the others. Only they know which records they have done since their
 * last commits, so that they have this time to join and claim them again. It is longer than a
 * member needs to join once the broker answers.
 */
const RETURN_MS = 3_000;

/**
 * After an assignment that left partitions to no member, the leader asks for another round itself,
 * in case their owner never does. The wait is longer than an owner needs to release the deliveries
 * of fast endpoints. It doubles each time, since a slow endpoint needs its request timeout.
 */
const FIRST_ASK_MS = 2_000;
const LONGEST_ASK_MS = 30_000;

/**
 * A member that has released its partitions asks for a round at the first of 50, 100, 200 ... ms
 * after their revocation, and within a second. So members that release partitions at about the same
 * time share a round.
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
  /** generation of the group when it last answered; undefined before this member joined */
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
  /** when the group last answered, by `performance.now()`; undefined before this member joined */
  #answeredAt: number | undefined;
  /** until when others may return to their partitions, and what this member had before */
  #returns: { untilMs: number; had: ReadonlySet<string> } | undefined;

  /** Notes an answer of the group that this process is a member. */
  onHeartbeat(generation: number): void {
    this.generation = generation;
    this.#answeredAt = performance.now();
  }

  /**
   * Returns the part of an assignment to read now: nothing if this member leaves; and after a pause
   * of the broker, others may return to their partitions.
   */
  accept(places: ReadonlyMap<string, TopicPartition>): ReadonlyMap<string, TopicPartition> {
    const now = performance.now();
    const wasAway = this.#answeredAt !== undefined && now - this.#answeredAt > SESSION_MS;
    if (wasAway) {
      const had = new Set([...this.assigned.keys(), ...this.draining.keys()]);
      this.#returns = { untilMs: now + RETURN_MS, had };
    } else if (this.#returns && now >= this.#returns.untilMs) {
      this.#returns = undefined;
    }
    this.#answeredAt = now;
    // A round that began before this member leaves may end afterwards.
    if (this.leaving) return new Map();
    const returns = this.#returns;
    if (!returns) return places;
    const taken = new Map([...places].filter(([id]) => returns.had.has(id)));
    if (taken.size < places.size) {
      this.#wantsRoundAt = Math.min(this.#wantsRoundAt, returns.untilMs);
    }
    return taken;
  }

  /** Asks for a round now. */
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
    } else {
      if (this.draining.size === 0) this.#drainsSince = performance.now();
      for (const [id, place] of this.assigned) if (!places.has(id)) this.draining.set(id, place);
      for (const id of places.keys()) this.draining.delete(id);
    }
    this.assigned = places;
    this.copartitions = new Set([...places.values()].map(({ number }) => number));
    this.#joinedAt = Date.now();
  }

  /** Time until this member wants a round, ms: 0 if it wants one now. */
  get wantsRoundIn(): number {
    return Math.max(0, Math.min(this.#wantsRoundAt - performance.now(), this.leaderAsksIn));
  }

  /**
   * Time until this leader asks for a round, ms: its last assignment left partitions to no member,
   * whose owners have had time to ask by then. Infinity if none is left.
   */
  get leaderAsksIn(): number {
    return this.#asksAt - performance.now();
  }

  /** Returns what this member claims, for a round that begins: it is the wanted one. */
  claims(topics: readonly string[]): Buffer {
    this.#wantsRoundAt = Infinity;
    this.#asksAt = Infinity;
    const places: Record<string, number[]> = {};
    const claimed = new Map([...this.assigned, ...this.draining]);
    for (const { topic, number } of claimed.values()) (places[topic] ??= []).push(number);
    const { leaving, generation } = this;
    const said: z.infer<typeof userData> = { places, at: this.#joinedAt, leaving, generation };
    return encodeSubscription(topics, Buffer.from(JSON.stringify(said)));
  }

  /**
   * Assigns the partitions of a round, as the leader of the group.
   * @param counts partitions of each topic that a member reads
   */
  assign(counts: ReadonlyMap<string, number>, members: readonly Member[]): MemberAssignment[] {
    const places = assignPlaces(counts, members);
    this.#askAgain(counts, places);
    return [...places].map(([memberId, assignment]) => ({
      memberId,
      assignment: encodeAssignment(assignment),
    }));
  }

  /** Asks for another round after a while, if this one leaves partitions to no member. */
  #askAgain(
    counts: ReadonlyMap<string, number>,
    places: ReadonlyMap<string, Record<string, number[]>>,
  ): void {
    const given = [...places.values()].flatMap((assignment) =>
      Object.values(assignment).flat(),
    ).length;
    if (given === [...counts.values()].reduce((sum, count) => sum + count, 0)) {
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
export function memberOf({ memberId, metadata }: JoinedMember): Member {
  // The broker describes the members of a group without their metadata while it rebalances.
  const said = metadata.length > 0 ? decodeSubscription(new ByteReader(metadata)) : undefined;
  const claims = readUserData(said?.userData.toString() ?? '');
  const { places = {}, at = 0, leaving = false, generation } = claims ?? {};
  return { memberId, topics: said?.topics ?? [], places, at, leaving, generation };
}

function readUserData(text: string): z.infer<typeof userData> | undefined {
  try {
    return userData.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Indexes an assignment by id. */
export function topicPartitionsOf(
  assignment: Readonly<Record<string, readonly number[]>>,
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
export function reportAssignments(
  log: Log,
  group: string,
): (assignment: Readonly<Record<string, readonly number[]>>) => void {
  let last = '';
  return (assignment) => {
    const text = JSON.stringify(assignment);
    const level = text === last ? 'debug' : 'info';
    log[level]({ group, assignment }, 'consumer.assigned');
    last = text;
  };
}
