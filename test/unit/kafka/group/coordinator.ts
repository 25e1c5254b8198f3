import { ERROR, KafkaError } from '../../../../shared/kafka/protocol/error-codes';
import {
  type CommittedPartition,
  type JoinAnswer,
  type MemberAssignment,
  type MemberId,
  type OutCommit,
} from '../../../../shared/kafka/protocol/group-requests';
import { type Random } from '../../../../tools/harness/random';
import { SESSION_MS } from '../../../../shared/kafka/consumer/membership';
import { type VirtualTime } from './virtual-time';

/** Models Kafka's group coordinator (the classic protocol), as far as consumers see it. */

const REBALANCE_MS = 15_000;

interface Member {
  memberId: string;
  metadata: Buffer;
  heardAt: number;
  assignment: Buffer;
  /** waits for all others to join */
  join?: ((joined: JoinAnswer) => void) | undefined;
  refuse?: ((error: Error) => void) | undefined;
  /** waits for the leader's assignment */
  sync?: { resolve: (assignment: Buffer) => void; reject: (error: Error) => void } | undefined;
}

const refusal = (errorCode: number) => new KafkaError('the coordinator', errorCode);

export class Coordinator {
  state: 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable' = 'Empty';
  generation = 0;
  leaderId = '';
  readonly #members = new Map<string, Member>();
  /** ids of members that are to join */
  readonly #expected = new Set<string>();
  #names = 0;
  #deadline = 0;
  /** by topic/partition */
  readonly committed = new Map<string, Pick<CommittedPartition, 'offset' | 'metadata'>>();
  /** called after each complete assignment */
  onStable: () => void = () => undefined;

  constructor(
    private readonly time: VirtualTime,
    private readonly random: Random,
  ) {
    setInterval(() => this.#expire(), 500);
  }

  has(memberId: string): boolean {
    return this.#members.has(memberId);
  }

  get members() {
    return [...this.#members.values()];
  }

  /** Returns the id with which a new member joins. */
  newMemberId(): string {
    const id = `member-${String(this.random.between(0, 9))}-${String(this.#names++)}`;
    this.#expected.add(id);
    return id;
  }

  join(id: string, metadata: Buffer): Promise<JoinAnswer> {
    if (!this.#expected.delete(id) && !this.#members.has(id)) {
      return Promise.reject(refusal(ERROR.unknownMember));
    }
    const known = this.#members.get(id);
    const member: Member = known ?? {
      memberId: id,
      metadata,
      heardAt: 0,
      assignment: Buffer.alloc(0),
    };
    Object.assign(member, { metadata, heardAt: this.time.now });
    this.#members.set(id, member);
    if (this.state !== 'PreparingRebalance') this.#prepare();
    return new Promise((resolve, reject) => {
      member.join = resolve;
      member.refuse = reject;
      this.#completeIfAll();
    });
  }

  /** @param assignments of the leader; empty from others */
  sync(id: MemberId, assignments: readonly MemberAssignment[]): Promise<Buffer> {
    const member = this.#check(id);
    if (this.state === 'PreparingRebalance') throw refusal(ERROR.rebalancing);
    if (assignments.length > 0) {
      for (const each of this.#members.values()) {
        each.assignment =
          assignments.find((one) => one.memberId === each.memberId)?.assignment ?? Buffer.alloc(0);
      }
      this.state = 'Stable';
      this.onStable();
      for (const each of this.#members.values()) {
        each.sync?.resolve(each.assignment);
        each.sync = undefined;
      }
    }
    if (this.state === 'Stable') return Promise.resolve(member.assignment);
    return new Promise<Buffer>((resolve, reject) => (member.sync = { resolve, reject }));
  }

  heartbeat(id: MemberId): void {
    this.#check(id).heardAt = this.time.now;
    if (this.state !== 'Stable') throw refusal(ERROR.rebalancing);
  }

  commit(id: MemberId, commits: readonly OutCommit[]): void {
    this.#check(id).heardAt = this.time.now;
    if (this.state === 'CompletingRebalance') throw refusal(ERROR.rebalancing);
    for (const { topic, partition, offset, metadata } of commits) {
      this.committed.set(`${topic}/${String(partition)}`, { offset, metadata });
    }
  }

  leave(memberId: string): void {
    const member = this.#members.get(memberId);
    if (!member) return;
    this.#members.delete(memberId);
    member.refuse?.(refusal(ERROR.unknownMember));
    member.sync?.reject(refusal(ERROR.unknownMember));
    if (this.state === 'PreparingRebalance') this.#completeIfAll();
    else this.#prepare();
  }

  #check({ memberId, generation }: MemberId): Member {
    const member = this.#members.get(memberId);
    if (!member) throw refusal(ERROR.unknownMember);
    if (generation !== this.generation) throw refusal(ERROR.illegalGeneration);
    return member;
  }

  #prepare(): void {
    this.state = 'PreparingRebalance';
    this.#deadline = this.time.now + REBALANCE_MS;
    for (const member of this.#members.values()) {
      member.sync?.reject(refusal(ERROR.rebalancing));
      member.sync = undefined;
    }
    this.#completeIfAll();
  }

  #completeIfAll(): void {
    const members = this.members;
    if (members.length === 0) this.state = 'Empty';
    if (this.state !== 'PreparingRebalance' || !members.every(({ join }) => join)) return;
    this.state = 'CompletingRebalance';
    this.generation++;
    if (!this.#members.has(this.leaderId)) this.leaderId = members[0]?.memberId ?? '';
    const all = members.map(({ memberId, metadata }) => ({ memberId, metadata }));
    for (const member of members) {
      const { memberId, join } = member;
      member.join = undefined;
      member.refuse = undefined;
      member.heardAt = this.time.now;
      const [generation, leaderId] = [this.generation, this.leaderId];
      const known = memberId === leaderId ? all : [];
      join?.({ errorCode: 0, memberId, generation, leaderId, members: known });
    }
  }

  /**
   * Ends sessions, and the wait for members that do not join again. A member that waits itself is
   * connected.
   */
  #expire(): void {
    const late = this.state === 'PreparingRebalance' && this.time.now > this.#deadline;
    for (const { memberId, heardAt, join, sync } of this.members) {
      if (!join && !sync && (late || this.time.now - heardAt > SESSION_MS)) this.leave(memberId);
    }
  }
}
