import {
  type ConsumerBrokers,
  type FetchConnection,
  type GroupRequests,
} from '../../../../shared/kafka/consumer/brokers';
import { ERROR, KafkaError } from '../../../../shared/kafka/protocol/error-codes';
import {
  type FetchedPartition,
  type FetchInput,
} from '../../../../shared/kafka/protocol/fetch-request';
import { EARLIEST, LATEST } from '../../../../shared/kafka/protocol/offset-requests';
import { type Random } from '../../../../tools/harness/random';
import { type Coordinator } from './coordinator';
import { type ModelLog } from './model-log';
import { type VirtualTime } from './virtual-time';

/**
 * Models the brokers as one process reaches them: one broker leads all, and coordinates the group.
 */

export interface World {
  time: VirtualTime;
  random: Random;
  coordinator: Coordinator;
  counts: Map<string, number>;
  /** what one of two brokers still says about `counts` until then */
  lag?: { counts: ReadonlyMap<string, number>; untilMs: number };
  /** by topic/partition, also those of partitions that their topic no longer has */
  logs: ReadonlyMap<string, ModelLog>;
  /** by topic; another one after the topic was made again */
  topicIds: Map<string, string>;
  /** number of times that the broker has started: connections end with it */
  starts: number;
}

/** What happens to a process. */
export interface Fate {
  dead: boolean;
  /** no broker can be reached until then */
  awayUntil: number;
  /** the coordinator cannot be reached until then, but records can be read */
  unheardUntil: number;
}

/** Returns the fate of a process that lives and reaches all brokers. */
export function alive(): Fate {
  return { dead: false, awayUntil: 0, unheardUntil: 0 };
}

const NODE = 1;
const FENCED_EPOCH = 74;
const UNKNOWN_EPOCH = 75;
const UNKNOWN_TOPIC_ID = 100;
const MOST_IN_A_FETCH = 5;
/** A request without an answer fails after this time. */
const ANSWER_WITHIN_MS = 5_000;
const never = new Promise<never>(() => undefined);

export class ModelBrokers implements ConsumerBrokers {
  memberId = '';
  /** when the coordinator last said that this is a member */
  heardAt = -Infinity;
  readonly group: GroupRequests;
  readonly #slowMs: number;

  constructor(
    private readonly world: World,
    private readonly fate: Fate,
  ) {
    this.#slowMs = world.random.one([5, 5, 300, 2_000]);
    this.group = this.#group();
  }

  async metadata(topics: readonly string[]) {
    await this.#answer(5);
    const { logs, topicIds, lag, time, random } = this.world;
    const lags = lag && time.now < lag.untilMs && random.next() < 0.5;
    const { counts } = lags ? lag : this.world;
    return new Map(
      topics.map((topic) => {
        const count = counts.get(topic) ?? 0;
        const partitions = Array.from({ length: count }, (_, number) => ({
          leader: NODE,
          epoch: logs.get(`${topic}/${String(number)}`)!.epoch,
        }));
        const errorCode = count === 0 ? ERROR.unknownTopic : 0;
        return [topic, { errorCode, id: topicIds.get(topic) ?? '', partitions }];
      }),
    );
  }

  async openFetches(): Promise<FetchConnection> {
    await this.#answer(5);
    const { starts } = this.world;
    let closed = false;
    const isOpen = () => !closed && starts === this.world.starts;
    return {
      get isOpen() {
        return isOpen();
      },
      fetch: (input, done) => {
        void this.#fetch(input, isOpen).then(
          (partitions) =>
            done(undefined, { throttleMs: 0, errorCode: 0, sessionId: 0, partitions }),
          (error: unknown) => {
            closed = true;
            done(error as Error, undefined);
          },
        );
      },
      close: () => (closed = true),
    };
  }

  async listOffsets(
    _node: number,
    places: readonly { topic: string; number: number; leaderEpoch: number }[],
    atMs: number,
  ) {
    await this.#answer(this.#slowMs);
    return places.map(({ topic, number, leaderEpoch }) => {
      const log = this.#logOf(topic, number);
      const errorCode = log ? errorOf(log, leaderEpoch, 0) : ERROR.unknownTopic;
      const end = atMs === LATEST ? log?.end : log?.firstSince(atMs);
      return { topic, number, errorCode, offset: atMs === EARLIEST ? 0 : (end ?? -1) };
    });
  }

  async epochEnd(_node: number, place: { topic: string; number: number }, epoch: number) {
    await this.#answer(this.#slowMs);
    const log = this.#logOf(place.topic, place.number);
    const errorCode = log ? 0 : ERROR.unknownTopic;
    return { ...place, errorCode, offset: log?.endOfEpoch(epoch) ?? -1 };
  }

  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the log of a partition; undefined if its topic does not have it. */
  #logOf(topic: string, number: number): ModelLog | undefined {
    const { logs, counts } = this.world;
    return number < (counts.get(topic) ?? 0) ? logs.get(`${topic}/${String(number)}`) : undefined;
  }

  async #fetch(input: FetchInput, isOpen: () => boolean): Promise<FetchedPartition[]> {
    const { random } = this.world;
    const mayAnswer = () => {
      const partitions = this.#read(input);
      return partitions.some(({ errorCode, next }) => errorCode !== 0 || next !== undefined);
    };
    await this.#reach(mayAnswer() ? random.between(1, 10) : input.maxWaitMs, this.fate.awayUntil);
    if (!isOpen()) throw new Error('the connection is closed');
    return random.shuffled(this.#read(input));
  }

  #read({ topics }: FetchInput): FetchedPartition[] {
    return topics.flatMap(({ topic: id, partitions }) => {
      const [topic] = [...this.world.topicIds].find(([, each]) => each === id) ?? [];
      return partitions.map(({ partition, leaderEpoch, offset }) => {
        const log = this.#logOf(String(topic), partition);
        const errorCode = errorOf(log, leaderEpoch, offset);
        const records = log && errorCode === 0 ? log.read(offset, MOST_IN_A_FETCH) : [];
        const next = records.length > 0 ? offset + records.length : undefined;
        const highWatermark = log?.end ?? -1;
        return { topic: id, partition, errorCode, highWatermark, replica: -1, records, next };
      });
    });
  }

  #group(): GroupRequests {
    const { coordinator, random } = this.world;
    /** Asks the coordinator. @param isProof the answer says that this is a member */
    const ask = async <T>(
      work: () => T | Promise<T>,
      refused: (errorCode: number) => T,
    ): Promise<T> => {
      await this.#reachCoordinator(random.between(1, 5));
      let answer: T;
      try {
        answer = await work();
        this.heardAt = this.world.time.now;
      } catch (error) {
        if (!(error instanceof KafkaError)) throw error;
        if (error.errorCode === ERROR.rebalancing) this.heardAt = this.world.time.now;
        answer = refused(error.errorCode);
      }
      await this.#reachCoordinator(0);
      return answer;
    };
    return {
      join: ({ memberId, metadata }) => {
        const none = { generation: -1, leaderId: '', memberId, members: [] };
        if (memberId === '') {
          const given = coordinator.newMemberId();
          return ask(
            () => ({ ...none, errorCode: ERROR.memberIdRequired, memberId: given }),
            (errorCode) => ({ ...none, errorCode }),
          );
        }
        this.memberId = memberId;
        return ask(
          () => coordinator.join(memberId, metadata),
          (errorCode) => ({ ...none, errorCode }),
        );
      },
      sync: (member, assignments) =>
        ask(
          async () => ({ errorCode: 0, assignment: await coordinator.sync(member, assignments) }),
          (errorCode) => ({ errorCode, assignment: Buffer.alloc(0) }),
        ),
      heartbeat: (member) =>
        ask(
          () => {
            coordinator.heartbeat(member);
            return 0;
          },
          (errorCode) => errorCode,
        ),
      commit: (member, commits) => {
        const exists = ({ topic, partition }: { topic: string; partition: number }) =>
          partition < (this.world.counts.get(topic) ?? 0);
        const answers = (errorCode: number) =>
          commits.map(({ topic, partition }) => {
            const known = exists({ topic, partition });
            return { topic, partition, errorCode: errorCode || (known ? 0 : ERROR.unknownTopic) };
          });
        return ask(() => {
          coordinator.commit(member, commits.filter(exists));
          return answers(0);
        }, answers);
      },
      committed: async (places) => {
        await this.#answer(this.#slowMs);
        const partitions = places.map(({ topic, number: partition }) => {
          const found = coordinator.committed.get(`${topic}/${String(partition)}`);
          const { offset = -1, metadata = '' } = found ?? {};
          return { topic, partition, errorCode: 0, offset, metadata };
        });
        return { errorCode: 0, partitions };
      },
      leave: (memberId) =>
        ask(
          () => coordinator.leave(memberId),
          () => undefined,
        ),
    };
  }

  /** Waits for an answer to a look-up. @throws if there is none */
  async #answer(slowMs: number): Promise<void> {
    const { random } = this.world;
    await this.#reach(random.between(1, slowMs), this.fate.awayUntil);
    if (slowMs > 5 && random.next() < 0.05) throw new Error('no broker answers');
  }

  #reachCoordinator(ms: number): Promise<void> {
    return this.#reach(ms, Math.max(this.fate.awayUntil, this.fate.unheardUntil));
  }

  /** Waits for the network. @throws if it is away for long */
  async #reach(ms: number, awayUntil: number): Promise<void> {
    const { time } = this.world;
    if (ms > 0) await time.sleep(ms);
    if (this.fate.dead) await never;
    const waitMs = awayUntil - time.now;
    if (waitMs <= 0) return;
    await time.sleep(Math.min(waitMs, ANSWER_WITHIN_MS));
    if (this.fate.dead) await never;
    if (waitMs > ANSWER_WITHIN_MS) throw new Error('no broker answers');
  }
}

function errorOf(log: ModelLog | undefined, leaderEpoch: number, offset: number): number {
  if (!log) return UNKNOWN_TOPIC_ID;
  if (leaderEpoch < log.epoch) return FENCED_EPOCH;
  if (leaderEpoch > log.epoch) return UNKNOWN_EPOCH;
  return offset > log.end ? ERROR.offsetOutOfRange : 0;
}
