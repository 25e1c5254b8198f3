import { backoff } from '../../runtime/async';
import { messageOf } from '../../runtime/errors';
import { logThrottle } from '../../runtime/load-limits';
import { type Log } from '../../telemetry/log';
import { ERROR, KafkaError } from '../protocol/error-codes';
import {
  type JoinedMember,
  type MemberAssignment,
  type OutCommit,
} from '../protocol/group-requests';
import { type GroupRequests } from './brokers';
import { ASSIGNOR, SESSION_MS } from './membership';

/**
 * The member of a consumer group that this process is: it joins rounds, sends heartbeats and
 * commits, and leaves.
 *
 * Invariant: each answer that says "you are no member of this generation", to whichever request,
 * ends the session here (`onLost`) and leads to a round. A coordinator that has moved, loads or
 * does not answer is asked again, and the membership outlives that.
 */

/** How long the group waits for a member that has not joined a round. */
const REBALANCE_MS = 15_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** A broker that starts refuses some times in a row. */
const WARN_EVERY = 10;
/** A refusal of heartbeats or commits may last, and they are sent several times a second. */
const LOG_EVERY_MS = 60_000;
const LOGGED_CODES = 100;
const ROUND_AGAIN: ReadonlySet<number> = new Set([ERROR.rebalancing, ERROR.illegalGeneration]);
/** A commit of one partition is refused, and the membership is as it was. */
const OF_A_PARTITION: ReadonlySet<number> = new Set([ERROR.unknownTopic, ERROR.metadataTooLarge]);
const NOT_A_WARNING: ReadonlySet<number> = new Set([
  ERROR.coordinatorLoading,
  ERROR.noCoordinator,
  ERROR.notCoordinator,
]);

/** The result of a round. */
export interface Round {
  memberId: string;
  generation: number;
  /** it is the leader, and there is no other member */
  isAlone: boolean;
  assignment: Buffer;
}

interface MemberParts {
  requests: GroupRequests;
  groupId: string;
  /** returns what this member claims in the round that begins */
  claims: () => Buffer;
  /** assigns the partitions of a round, as its leader. @throws to try the round again */
  assign: (members: readonly JoinedMember[]) => Promise<MemberAssignment[]>;
  onRound: (round: Round) => void;
  /**
   * called when the coordinator has answered that this is a member of the generation
   * @param sentAt when it was asked, by `performance.now()`: the answer may have waited here
   */
  onHeartbeat: (generation: number, sentAt: number) => void;
  /** called when others may own the partitions */
  onLost: () => void;
  /** called when this user may not read with the group; it joins no more */
  onForbidden: () => void;
  log: Log;
}

export class Member {
  #memberId = '';
  #generation = -1;
  /** a round is wanted that has not begun */
  #wantsRound = false;
  /** the last rounds, until no other is wanted */
  #rounds: Promise<void> | undefined;
  #isBeating = false;
  #left = false;
  readonly #mayLog = logThrottle(LOG_EVERY_MS, LOGGED_CODES);

  constructor(private readonly parts: MemberParts) {}

  /** True while this process has joined and knows of no end of its session. */
  get isJoined(): boolean {
    return this.#memberId !== '' && this.#generation >= 0;
  }

  get memberId(): string {
    return this.#memberId;
  }

  /** True from the wish for a round until its end. */
  get isJoining(): boolean {
    return this.#rounds !== undefined;
  }

  /** Joins the next round. */
  join(): void {
    if (this.#left) return;
    this.#wantsRound = true;
    this.#rounds ??= this.#join().finally(() => (this.#rounds = undefined));
  }

  /** Sends a heartbeat, unless the last one is unanswered. */
  beat(): void {
    if (this.#isBeating || !this.isJoined) return;
    this.#isBeating = true;
    const member = this.#id();
    const sentAt = performance.now();
    const noted = this.parts.requests.heartbeat(member).then(
      (errorCode) => this.#noted(member.generation, sentAt, errorCode),
      (error: unknown) => this.#failed(error),
    );
    void noted.finally(() => (this.#isBeating = false));
  }

  /** Commits offsets. @returns the answer for each partition @throws without an answer */
  async commit(commits: readonly OutCommit[]) {
    const member = this.#id();
    const sentAt = performance.now();
    const answers = await this.parts.requests.commit(member, commits);
    const refused = answers.find(
      ({ errorCode }) => errorCode !== 0 && !OF_A_PARTITION.has(errorCode),
    );
    this.#noted(member.generation, sentAt, refused?.errorCode ?? 0);
    return answers;
  }

  /** Leaves the group, so that others need not wait for the end of the session. */
  async leave(): Promise<void> {
    this.#left = true;
    const memberId = this.#memberId;
    this.#forget();
    if (memberId === '') return;
    await this.parts.requests.leave(memberId).catch((error: unknown) => this.#failed(error));
  }

  #id() {
    const { groupId } = this.parts;
    return { groupId, memberId: this.#memberId, generation: this.#generation };
  }

  #forget(): void {
    this.#memberId = '';
    this.#generation = -1;
  }

  /** Acts on the answer to a heartbeat or a commit. */
  #noted(generation: number, sentAt: number, errorCode: number): void {
    // A round decides by itself, and may have begun or ended since the request.
    const isCurrent = generation === this.#generation && !this.#left;
    if (!isCurrent) return;
    if (errorCode === 0 || errorCode === ERROR.rebalancing) {
      this.parts.onHeartbeat(generation, sentAt);
    }
    if (errorCode === 0 || this.isJoining) return;
    if (errorCode === ERROR.rebalancing) return this.join();
    if (errorCode === ERROR.unknownMember || errorCode === ERROR.illegalGeneration) {
      this.#lost();
      return this.join();
    }
    if (!NOT_A_WARNING.has(errorCode) && this.#mayLog(String(errorCode))) {
      this.parts.log.warn({ group: this.parts.groupId, errorCode }, 'group.refused');
    }
  }

  #lost(): void {
    this.#forget();
    this.parts.onLost();
  }

  #failed(error: unknown): void {
    const { log, groupId } = this.parts;
    log.debug({ group: groupId, reason: messageOf(error) }, 'group.not_reached');
  }

  /** Joins rounds until no other is wanted. */
  async #join(): Promise<void> {
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    let failures = 0;
    while (this.#wantsRound && !this.#left) {
      this.#wantsRound = false;
      try {
        const round = await this.#round();
        if (!round) this.#wantsRound = true;
        else if (!this.#hasLeft()) this.parts.onRound(round);
      } catch (error) {
        if (error instanceof KafkaError && error.errorCode === ERROR.groupForbidden) {
          this.#left = true;
          this.parts.onForbidden();
          return;
        }
        this.#wantsRound = true;
        const { log, groupId } = this.parts;
        const level = ++failures % WARN_EVERY === 0 ? 'warn' : 'debug';
        log[level]({ group: groupId, reason: messageOf(error) }, 'group.not_joined');
        await retry.pause();
      }
    }
  }

  /** @returns undefined if the round is over, and the next one has begun @throws KafkaError */
  async #round(): Promise<Round | undefined> {
    const { requests, groupId, claims, assign } = this.parts;
    const joined = await requests.join({
      groupId,
      memberId: this.#memberId,
      sessionMs: SESSION_MS,
      rebalanceMs: REBALANCE_MS,
      protocol: ASSIGNOR,
      metadata: claims(),
    });
    const { errorCode, memberId, generation, leaderId, members } = joined;
    if (errorCode === ERROR.memberIdRequired) {
      this.#memberId = memberId;
      return undefined;
    }
    if (errorCode === ERROR.unknownMember || ROUND_AGAIN.has(errorCode)) {
      this.#lost();
      return undefined;
    }
    if (errorCode !== 0) throw new KafkaError('the group', errorCode);
    this.#memberId = memberId;
    this.#generation = generation;
    const isLeader = leaderId === memberId;
    const assignments = isLeader ? await assign(members) : [];
    const askedAt = performance.now();
    const synced = await requests.sync(this.#id(), assignments, REBALANCE_MS);
    if (synced.errorCode === ERROR.unknownMember) this.#lost();
    if (synced.errorCode === ERROR.unknownMember || ROUND_AGAIN.has(synced.errorCode)) {
      return undefined;
    }
    if (synced.errorCode !== 0) throw new KafkaError('the assignment', synced.errorCode);
    this.parts.onHeartbeat(generation, askedAt);
    const isAlone = isLeader && members.length === 1;
    return { memberId, generation, isAlone, assignment: synced.assignment };
  }

  /** A function, because the value may change during a wait. */
  #hasLeft = () => this.#left;
}
