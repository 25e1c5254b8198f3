import { type Kafka as KafkaJs } from 'kafkajs';
import {
  type ConsumerBrokers,
  type FetchConnection,
  type GroupRequests,
  type LogBrokers,
} from '../consumer/brokers';
import { ERROR } from '../protocol/error-codes';
import {
  FETCH,
  type FetchAnswer,
  type FetchInput,
  readFetch,
  writeFetch,
} from '../protocol/fetch-request';
import * as group from '../protocol/group-requests';
import {
  EPOCH_END,
  LIST_OFFSETS,
  readEpochEnd,
  readListOffsets,
  writeEpochEnd,
  writeListOffsets,
} from '../protocol/offset-requests';
import { Brokers } from './brokers';
import { type Api, type Wire, type Write } from './wire';
import { type ByteReader } from '../protocol/bytes';

/** Sends the requests of a consumer (consumer/brokers.ts) to real brokers. */

const ANSWER_WITHIN_MS = 5_000;
/** Beyond the longest wait of a fetch. */
const FETCH_WITHIN_MS = 10_000;
/** A process that stops does not wait for a broker that is down. */
const GOODBYE_MS = 1_000;
const REQUESTS = 0;
const FETCHES = 1;

/** Connects to the brokers. @throws an error of kafkajs if no broker answers */
export async function connectConsumer(
  client: KafkaJs,
  groupId: string,
  topic: string,
): Promise<ConsumerBrokers> {
  const brokers = new Brokers(client, topic);
  // A broker answers nothing else on a connection while a member on it waits for the others.
  const joining = new Brokers(client, topic);
  await Promise.all([brokers.connect(), joining.connect()]);
  return {
    ...logsOf(brokers),
    group: new GroupConnection(brokers, joining, groupId),
    disconnect: async () => {
      await Promise.all([brokers.disconnect(), joining.disconnect()]);
    },
  };
}

/** Connects a reader without a group. @throws an error of kafkajs if no broker answers */
export async function connectLogs(client: KafkaJs, topic: string): Promise<LogBrokers> {
  const brokers = new Brokers(client, topic);
  await brokers.connect();
  return logsOf(brokers);
}

/** @param brokers opens wires, which are opened again after they were closed */
export function logsOf(brokers: Pick<Brokers, 'metadata' | 'wireTo' | 'disconnect'>): LogBrokers {
  /** by the socket of its wire */
  const connections = new WeakMap<object, FetchConnection>();
  return {
    metadata: (topics) => brokers.metadata(topics),
    openFetches: async (node) => {
      const wire = await brokers.wireTo(node, FETCHES);
      const socket = wire.socket ?? wire;
      let connection = connections.get(socket);
      if (!connection) connections.set(socket, (connection = fetchesOver(wire, socket)));
      return connection;
    },
    listOffsets: async (node, places, atMs) => {
      const wire = await brokers.wireTo(node, REQUESTS);
      const write: Write = (to) => writeListOffsets(to, places, atMs);
      return readListOffsets(await wire.call(LIST_OFFSETS, write, ANSWER_WITHIN_MS));
    },
    epochEnd: async (node, place, epoch) => {
      const wire = await brokers.wireTo(node, REQUESTS);
      const write: Write = (to) => writeEpochEnd(to, [place], epoch);
      return readEpochEnd(await wire.call(EPOCH_END, write, ANSWER_WITHIN_MS))[0];
    },
    disconnect: () => brokers.disconnect(),
  };
}

function fetchesOver(wire: Wire, socket: object): FetchConnection {
  return {
    get isOpen() {
      return wire.isOpen && wire.socket === socket;
    },
    fetch: (input: FetchInput, done) => {
      const write: Write = (to) => writeFetch(to, input);
      const answered = (error: Error | undefined, from: ByteReader) => {
        const answer = error ?? readAnswer(from);
        if (answer instanceof Error) {
          done(answer, undefined);
        } else {
          wire.throttle(answer.throttleMs);
          done(undefined, answer);
        }
      };
      wire.send(FETCH, write, answered, input.maxWaitMs + FETCH_WITHIN_MS);
    },
    close: () => void wire.close(new Error('the consumer closes the connection')),
  };
}

function readAnswer(from: ByteReader): FetchAnswer | Error {
  try {
    return readFetch(from);
  } catch (error) {
    return new Error('the answer to a fetch cannot be read', { cause: error });
  }
}

/** Sends requests to the coordinator of a group, and finds it again when it has moved. */
class GroupConnection implements GroupRequests {
  #coordinator: Promise<number> | undefined;

  constructor(
    private readonly brokers: Brokers,
    private readonly joining: Brokers,
    private readonly groupId: string,
  ) {}

  join(input: group.JoinInput): Promise<group.JoinAnswer> {
    const write: Write = (to) => group.writeJoin(to, input);
    const timeoutMs = input.rebalanceMs + ANSWER_WITHIN_MS;
    return this.#ask(this.joining, group.JOIN, write, group.readJoin, timeoutMs);
  }

  sync(
    member: group.MemberId,
    assignments: readonly group.MemberAssignment[],
    withinMs: number,
  ): Promise<group.SyncAnswer> {
    const write: Write = (to) => group.writeSync(to, member, assignments);
    const timeoutMs = withinMs + ANSWER_WITHIN_MS;
    return this.#ask(this.joining, group.SYNC, write, group.readSync, timeoutMs);
  }

  async heartbeat(member: group.MemberId): Promise<number> {
    const write: Write = (to) => group.writeHeartbeat(to, member);
    return (await this.#ask(this.brokers, group.HEARTBEAT, write, readCode)).errorCode;
  }

  async commit(
    member: group.MemberId,
    commits: readonly group.OutCommit[],
  ): Promise<group.PartitionAnswer[]> {
    const write: Write = (to) => group.writeCommit(to, member, commits);
    const read = (from: ByteReader) => {
      const partitions = group.readCommit(from);
      return { errorCode: partitions[0]?.errorCode ?? 0, partitions };
    };
    return (await this.#ask(this.brokers, group.COMMIT, write, read)).partitions;
  }

  committed(places: readonly { topic: string; number: number }[]): Promise<group.CommittedAnswer> {
    const write: Write = (to) => group.writeCommitted(to, this.groupId, places);
    return this.#ask(this.brokers, group.COMMITTED, write, group.readCommitted);
  }

  async leave(memberId: string): Promise<void> {
    const write: Write = (to) => group.writeLeave(to, this.groupId, memberId);
    await this.#ask(this.brokers, group.LEAVE, write, readCode, GOODBYE_MS);
  }

  async #ask<T extends { errorCode: number }>(
    brokers: Brokers,
    api: Api,
    write: Write,
    read: (from: ByteReader) => T,
    timeoutMs = ANSWER_WITHIN_MS,
  ): Promise<T> {
    try {
      const node = await (this.#coordinator ??= this.brokers.coordinatorOf(this.groupId));
      const wire = await brokers.wireTo(node, REQUESTS);
      const answer = read(await wire.call(api, write, timeoutMs));
      if (MOVED.has(answer.errorCode)) this.#coordinator = undefined;
      return answer;
    } catch (error) {
      this.#coordinator = undefined;
      throw error;
    }
  }
}

const MOVED: ReadonlySet<number> = new Set([
  ERROR.coordinatorLoading,
  ERROR.noCoordinator,
  ERROR.notCoordinator,
]);

function readCode(from: ByteReader): { errorCode: number } {
  return { errorCode: group.readErrorCode(from) };
}
