import { type FetchAnswer, type FetchInput } from '../protocol/fetch-request';
import {
  type CommittedAnswer,
  type JoinAnswer,
  type JoinInput,
  type MemberAssignment,
  type MemberId,
  type OutCommit,
  type PartitionAnswer,
  type SyncAnswer,
} from '../protocol/group-requests';
import { type TopicMetadata } from '../protocol/metadata-request';
import { type FoundOffset, type LogPlace } from '../protocol/offset-requests';

/**
 * The requests of a consumer. `client/consumer-brokers.ts` sends them; a model of the brokers
 * answers them in `test/unit/kafka/group`.
 */
export interface ConsumerBrokers extends LogBrokers {
  readonly group: GroupRequests;
}

/** The requests about logs, which need no group. */
export interface LogBrokers {
  /** @param topics full names. @throws if no broker answers */
  metadata(topics: readonly string[]): Promise<ReadonlyMap<string, TopicMetadata>>;
  /**
   * Returns the open connection for fetches to a broker, or opens another one.
   * @throws if it cannot be reached
   */
  openFetches(node: number): Promise<FetchConnection>;
  /** Asks the leader of partitions for the first record since a time. @throws without an answer */
  listOffsets(node: number, places: readonly LogPlace[], atMs: number): Promise<FoundOffset[]>;
  /** Asks the leader of a partition where an epoch ends. @throws without an answer */
  epochEnd(node: number, place: LogPlace, epoch: number): Promise<FoundOffset | undefined>;
  disconnect(): Promise<void>;
}

/** A connection that carries one fetch at a time. Once closed, it is not used again. */
export interface FetchConnection {
  readonly isOpen: boolean;
  /** @param done called once, later */
  fetch(
    input: FetchInput,
    done: (error: Error | undefined, answer: FetchAnswer | undefined) => void,
  ): void;
  close(): void;
}

/** The requests of a group's member. They throw without an answer; answers have error codes. */
export interface GroupRequests {
  join(input: JoinInput): Promise<JoinAnswer>;
  sync(
    member: MemberId,
    assignments: readonly MemberAssignment[],
    withinMs: number,
  ): Promise<SyncAnswer>;
  /** @returns the error code; 0 without one */
  heartbeat(member: MemberId): Promise<number>;
  commit(member: MemberId, commits: readonly OutCommit[]): Promise<PartitionAnswer[]>;
  committed(places: readonly { topic: string; number: number }[]): Promise<CommittedAnswer>;
  leave(memberId: string): Promise<void>;
}
