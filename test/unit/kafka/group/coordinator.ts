import { type Random } from '../../../../tools/harness/random';
import { SESSION_MS } from '../../../../shared/kafka/consumer/membership';
import { type VirtualTime } from './virtual-time';

/** Models Kafka's group coordinator (the classic protocol), as far as consumers see it. */

const REBALANCE_MS = 15_000;

export interface Joined {
  memberId: string;
  generation: number;
  leaderId: string;
  /** only for the leader; empty for others */
  members: { memberId: string; memberMetadata: Buffer }[];
}

interface Member {
  memberId: string;
  metadata: Buffer;
  heardAt: number;
  assignment: Buffer;
  /** waits for all others to join */
  join?: ((joined: Joined) => void) | undefined;
  refuse?: ((error: Error) => void) | undefined;
  /** waits for the leader's assignment */
  sync?: { resolve: (assignment: Buffer) => void; reject: (error: Error) => void } | undefined;
}

const refusal = (type: string) => Object.assign(new Error(type), { type, retriable: true });

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
  readonly committed = new Map<string, { offset: string; metadata: string }>();
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

  join(id: string, metadata: Buffer): Promise<Joined> {
    if (!this.#expected.delete(id) && !this.#members.has(id)) {
      return Promise.reject(refusal('UNKNOWN_MEMBER_ID'));
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

  sync(
    memberId: string,
    generation: number,
    assignments: { memberId: string; memberAssignment: Buffer }[] | undefined,
  ) {
    const member = this.#check(memberId, generation);
    if (this.state === 'PreparingRebalance') throw refusal('REBALANCE_IN_PROGRESS');
    if (assignments) {
      for (const each of this.#members.values()) {
        each.assignment =
          assignments.find((one) => one.memberId === each.memberId)?.memberAssignment ??
          Buffer.alloc(0);
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

  heartbeat(memberId: string, generation: number): void {
    this.#check(memberId, generation).heardAt = this.time.now;
    if (this.state !== 'Stable') throw refusal('REBALANCE_IN_PROGRESS');
  }

  commit(
    memberId: string,
    generation: number,
    offsets: readonly { id: string; offset: string; metadata: string }[],
  ): void {
    this.#check(memberId, generation).heardAt = this.time.now;
    if (this.state === 'CompletingRebalance') throw refusal('REBALANCE_IN_PROGRESS');
    for (const { id, offset, metadata } of offsets) this.committed.set(id, { offset, metadata });
  }

  leave(memberId: string): void {
    const member = this.#members.get(memberId);
    if (!member) return;
    this.#members.delete(memberId);
    member.refuse?.(refusal('UNKNOWN_MEMBER_ID'));
    member.sync?.reject(refusal('UNKNOWN_MEMBER_ID'));
    if (this.state === 'PreparingRebalance') this.#completeIfAll();
    else this.#prepare();
  }

  #check(memberId: string, generation: number): Member {
    const member = this.#members.get(memberId);
    if (!member) throw refusal('UNKNOWN_MEMBER_ID');
    if (generation !== this.generation) throw refusal('ILLEGAL_GENERATION');
    return member;
  }

  #prepare(): void {
    this.state = 'PreparingRebalance';
    this.#deadline = this.time.now + REBALANCE_MS;
    for (const member of this.#members.values()) {
      member.sync?.reject(refusal('REBALANCE_IN_PROGRESS'));
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
    const all = members.map(({ memberId, metadata }) => ({ memberId, memberMetadata: metadata }));
    for (const member of members) {
      const { memberId, join } = member;
      member.join = undefined;
      member.refuse = undefined;
      member.heardAt = this.time.now;
      const [generation, leaderId] = [this.generation, this.leaderId];
      join?.({ memberId, generation, leaderId, members: memberId === leaderId ? all : [] });
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
