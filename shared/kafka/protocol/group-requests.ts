import { type ByteReader, ByteWriter } from './bytes';

/**
 * The requests of a member of a consumer group, and what members tell each other through them
 * (https://kafka.apache.org/protocol).
 */

export const FIND_COORDINATOR = { key: 10, version: 2 };
export const JOIN = { key: 11, version: 5 };
export const HEARTBEAT = { key: 12, version: 3 };
export const LEAVE = { key: 13, version: 2 };
export const SYNC = { key: 14, version: 3 };
export const COMMIT = { key: 8, version: 5 };
export const COMMITTED = { key: 9, version: 4 };

const PROTOCOL_TYPE = 'consumer';
const OF_GROUP = 0;

export function writeFindCoordinator(to: ByteWriter, groupId: string): void {
  to.string(groupId);
  to.int8(OF_GROUP);
}

/** @returns the id of the broker that coordinates the group */
export function readFindCoordinator(from: ByteReader): { errorCode: number; node: number } {
  from.int32(); // throttle time
  const errorCode = from.int16();
  from.string(); // the error in words
  return { errorCode, node: from.int32() };
}

/** A member in a generation of its group. */
export interface MemberId {
  groupId: string;
  /** empty before the first answer */
  memberId: string;
  generation: number;
}

export interface JoinInput extends Omit<MemberId, 'generation'> {
  sessionMs: number;
  rebalanceMs: number;
  /** name of the assignor */
  protocol: string;
  /** from `encodeSubscription` */
  metadata: Buffer;
}

export interface JoinAnswer {
  errorCode: number;
  generation: number;
  leaderId: string;
  memberId: string;
  /** for the leader; empty for others */
  members: JoinedMember[];
}

export interface JoinedMember {
  memberId: string;
  metadata: Buffer;
}

export function writeJoin(to: ByteWriter, input: JoinInput): void {
  to.string(input.groupId);
  to.int32(input.sessionMs);
  to.int32(input.rebalanceMs);
  to.string(input.memberId);
  to.string(null); // no static member
  to.string(PROTOCOL_TYPE);
  to.int32(1);
  to.string(input.protocol);
  to.bytes(input.metadata);
}

export function readJoin(from: ByteReader): JoinAnswer {
  from.int32(); // throttle time
  const errorCode = from.int16();
  const generation = from.int32();
  from.string(); // protocol
  const leaderId = from.string();
  const memberId = from.string();
  const members = from.array(() => {
    const id = from.string();
    from.string(); // static member
    return { memberId: id, metadata: from.bytes() };
  });
  return { errorCode, generation, leaderId, memberId, members };
}

/** The assignment of one member, from `encodeAssignment`. */
export interface MemberAssignment {
  memberId: string;
  assignment: Buffer;
}

export function writeSync(
  to: ByteWriter,
  id: MemberId,
  assignments: readonly MemberAssignment[],
): void {
  writeHeartbeat(to, id);
  to.array(assignments, ({ memberId, assignment }) => {
    to.string(memberId);
    to.bytes(assignment);
  });
}

export interface SyncAnswer {
  errorCode: number;
  assignment: Buffer;
}

export function readSync(from: ByteReader): SyncAnswer {
  from.int32();
  return { errorCode: from.int16(), assignment: from.bytes() };
}

export function writeHeartbeat(to: ByteWriter, { groupId, generation, memberId }: MemberId): void {
  to.string(groupId);
  to.int32(generation);
  to.string(memberId);
  to.string(null);
}

/** Reads the answer to a heartbeat or a leave. @returns the error code; 0 without one */
export function readErrorCode(from: ByteReader): number {
  from.int32();
  return from.int16();
}

export function writeLeave(to: ByteWriter, groupId: string, memberId: string): void {
  to.string(groupId);
  to.string(memberId);
}

export interface OutCommit {
  /** full name */
  topic: string;
  partition: number;
  offset: number;
  metadata: string;
}

export function writeCommit(to: ByteWriter, id: MemberId, commits: readonly OutCommit[]): void {
  to.string(id.groupId);
  to.int32(id.generation);
  to.string(id.memberId);
  to.array(byTopic(commits), ([topic, ofTopic]) => {
    to.string(topic);
    to.array(ofTopic, ({ partition, offset, metadata }) => {
      to.int32(partition);
      to.int64(offset);
      to.string(metadata);
    });
  });
}

/** The answer for one partition to a commit, or to a look-up of commits. */
export interface PartitionAnswer {
  topic: string;
  partition: number;
  errorCode: number;
}

export function readCommit(from: ByteReader): PartitionAnswer[] {
  from.int32();
  return readPartitions(from, (topic) => ({
    topic,
    partition: from.int32(),
    errorCode: from.int16(),
  }));
}

export function writeCommitted(
  to: ByteWriter,
  groupId: string,
  places: readonly { topic: string; number: number }[],
): void {
  to.string(groupId);
  to.array(byTopic(places), ([topic, ofTopic]) => {
    to.string(topic);
    to.array(ofTopic, ({ number }) => to.int32(number));
  });
}

export interface CommittedPartition extends PartitionAnswer {
  /** negative without a commit */
  offset: number;
  metadata: string;
}

export interface CommittedAnswer {
  errorCode: number;
  partitions: CommittedPartition[];
}

export function readCommitted(from: ByteReader): CommittedAnswer {
  from.int32();
  const partitions = readPartitions(from, (topic) => {
    const partition = from.int32();
    const offset = from.int64();
    const metadata = from.string();
    return { topic, partition, offset, metadata, errorCode: from.int16() };
  });
  return { errorCode: from.int16(), partitions };
}

function byTopic<T extends { topic: string }>(all: readonly T[]): [topic: string, T[]][] {
  const topics = new Map<string, T[]>();
  for (const each of all) {
    const known = topics.get(each.topic);
    if (known) known.push(each);
    else topics.set(each.topic, [each]);
  }
  return [...topics];
}

function readPartitions<T>(from: ByteReader, read: (topic: string) => T): T[] {
  const topics = from.array(() => {
    const topic = from.string();
    return from.array(() => read(topic));
  });
  return topics.flat();
}

/** Version of subscriptions and assignments, which only Waypost reads. */
const VERSION = 1;

/** What a member tells the leader: the topics that it reads, and data of the assignor. */
export function encodeSubscription(topics: readonly string[], userData: Buffer): Buffer {
  const to = new ByteWriter();
  to.int16(VERSION);
  to.array(topics, (topic) => to.string(topic));
  to.bytes(userData);
  return to.take();
}

export function decodeSubscription(from: ByteReader): { topics: string[]; userData: Buffer } {
  from.int16();
  return { topics: from.array(() => from.string()), userData: from.bytes() };
}

/** What the leader gives a member: partitions by topic. */
export function encodeAssignment(places: Readonly<Record<string, readonly number[]>>): Buffer {
  const to = new ByteWriter();
  to.int16(VERSION);
  to.array(Object.entries(places), ([topic, numbers]) => {
    to.string(topic);
    to.array(numbers, (number) => to.int32(number));
  });
  to.bytes(Buffer.alloc(0));
  return to.take();
}

/** @param from without bytes for a member that the leader gave nothing */
export function decodeAssignment(from: ByteReader): Record<string, number[]> {
  const places: Record<string, number[]> = {};
  if (from.buffer.length === 0) return places;
  from.int16();
  from.array(() => {
    const topic = from.string();
    places[topic] = from.array(() => from.int32());
  });
  return places;
}
