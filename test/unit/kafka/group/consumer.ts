import {
  AssignerProtocol,
  type Consumer,
  type EachBatchPayload,
  type PartitionAssigner,
} from 'kafkajs';
import { type Random } from '../../../../tools/harness/random';
import { type Coordinator, type Joined } from './coordinator';
import { type VirtualTime } from './virtual-time';

/** Models kafkajs's consumer, which joins, fetches, seeks, pauses and learns of a round. */

export interface Around {
  time: VirtualTime;
  random: Random;
  coordinator: Coordinator;
  /** number of records in each partition, by topic/partition */
  ends: Map<string, number>;
  counts: ReadonlyMap<string, number>;
}

/** The state of the process of a consumer. */
export interface Fate {
  dead: boolean;
  /** no broker can be reached until then */
  awayUntil: number;
}

type Listener = (event: { payload: unknown }) => void;
const EVENTS = [
  'GROUP_JOIN',
  'FETCH_START',
  'REBALANCING',
  'HEARTBEAT',
  'REQUEST_TIMEOUT',
  'CRASH',
];
const MOST_IN_A_FETCH = 5;
const FETCH_MS = 250;

const never = new Promise<never>(() => undefined);

export class ModelConsumer {
  readonly events = Object.fromEntries(EVENTS.map((name) => [name, name]));
  readonly #listeners = new Map<string, Listener[]>();
  readonly #assigner: ReturnType<PartitionAssigner>;
  readonly #paused = new Set<string>();
  readonly #seeks = new Map<string, number>();
  #positions = new Map<string, number>();
  #topics: string[] = [];
  #eachBatch: (payload: EachBatchPayload) => Promise<void> = () => Promise.resolve();
  #running = false;
  #generation = 0;
  memberId = '';

  constructor(
    private readonly around: Around,
    private readonly fate: Fate,
    assigner: PartitionAssigner,
  ) {
    const cluster = {
      addTargetTopic: () => Promise.resolve(),
      findTopicPartitionMetadata: (topic: string) =>
        Array.from({ length: around.counts.get(topic) ?? 0 }),
    };
    this.#assigner = assigner({ cluster } as unknown as Parameters<PartitionAssigner>[0]);
  }

  /** The consumer with the type that the code under test expects. */
  get asConsumer(): Consumer {
    return this as unknown as Consumer;
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  subscribe({ topics }: { topics: string[] }): Promise<void> {
    this.#topics = topics;
    return Promise.resolve();
  }

  async run({
    eachBatch,
  }: {
    eachBatch: (payload: EachBatchPayload) => Promise<void>;
  }): Promise<void> {
    this.#eachBatch = eachBatch;
    this.#running = true;
    await this.#join();
    void this.#loop();
  }

  disconnect(): Promise<void> {
    this.#running = false;
    if (!this.fate.dead) this.around.coordinator.leave(this.memberId);
    return Promise.resolve();
  }

  seek({ topic, partition, offset }: { topic: string; partition: number; offset: string }): void {
    this.#seeks.set(`${topic}/${String(partition)}`, Number(offset));
  }

  pause(topics: { topic: string; partitions?: number[] }[]): void {
    for (const id of this.#idsOf(topics)) this.#paused.add(id);
  }

  resume(topics: { topic: string; partitions?: number[] }[]): void {
    for (const id of this.#idsOf(topics)) this.#paused.delete(id);
  }

  async commitOffsets(
    offsets: { topic: string; partition: number; offset: string; metadata: string }[],
  ): Promise<void> {
    const generation = this.#generation;
    await this.around.time.sleep(this.around.random.between(0, 3));
    if (this.fate.dead || this.#isAway) throw new Error('no broker answers');
    const entries = offsets.map(({ topic, partition, ...rest }) => ({
      id: `${topic}/${String(partition)}`,
      ...rest,
    }));
    this.around.coordinator.commit(this.memberId, generation, entries);
  }

  get #isAway(): boolean {
    return this.around.time.now < this.fate.awayUntil;
  }

  #idsOf(topics: { topic: string; partitions?: number[] }[]): string[] {
    return topics.flatMap(({ topic, partitions }) => {
      const numbers = partitions ?? [...Array(this.around.counts.get(topic) ?? 0).keys()];
      return numbers.map((number) => `${topic}/${String(number)}`);
    });
  }

  #emit(event: string, payload: unknown = {}): void {
    for (const listener of this.#listeners.get(event) ?? []) listener({ payload });
  }

  /** Waits for the network; ends with the process. */
  async #wait(ms: number): Promise<void> {
    do await this.around.time.sleep(ms);
    while (!this.fate.dead && this.#isAway);
    if (this.fate.dead) await never;
  }

  async #loop(): Promise<void> {
    while (this.#running) {
      try {
        this.#emit('FETCH_START');
        await this.#fetch();
        this.around.coordinator.heartbeat(this.memberId, this.#generation);
        this.#emit('HEARTBEAT', { groupGenerationId: this.#generation, memberId: this.memberId });
      } catch (error) {
        const { type } = error as { type?: string };
        if (type === 'UNKNOWN_MEMBER_ID') this.memberId = '';
        else if (type !== 'REBALANCE_IN_PROGRESS' && type !== 'ILLEGAL_GENERATION') throw error;
        this.#emit('REBALANCING');
        await this.#join();
      }
    }
  }

  async #join(): Promise<void> {
    const { coordinator, random } = this.around;
    for (;;) {
      try {
        await this.#wait(random.between(1, 20));
        const { metadata } = this.#assigner.protocol({ topics: this.#topics });
        const joined = await coordinator.join(this.memberId, metadata);
        if (this.fate.dead) await never;
        [this.memberId, this.#generation] = [joined.memberId, joined.generation];
        const memberAssignment = await this.#sync(joined);
        const payload = { memberId: this.memberId, leaderId: joined.leaderId, memberAssignment };
        this.#emit('GROUP_JOIN', {
          ...payload,
          isLeader: joined.leaderId === this.memberId,
          groupId: 'model',
        });
        return;
      } catch (error) {
        const { type } = error as { type?: string };
        if (type === 'UNKNOWN_MEMBER_ID') this.memberId = '';
        else if (type !== 'REBALANCE_IN_PROGRESS' && type !== 'ILLEGAL_GENERATION') throw error;
      }
    }
  }

  async #sync({ leaderId, members }: Joined): Promise<Record<string, number[]>> {
    const [memberId, generation] = [this.memberId, this.#generation];
    await this.#wait(this.around.random.between(1, 5));
    const assignments =
      leaderId === memberId
        ? await this.#assigner.assign({ members, topics: this.#topics })
        : undefined;
    const raw = await this.around.coordinator.sync(memberId, generation, assignments);
    if (this.fate.dead) await never;
    const decoded = AssignerProtocol.MemberAssignment.decode(raw)?.assignment ?? {};
    const read = Object.entries(decoded).filter(([topic]) => this.#topics.includes(topic));
    this.#positions = new Map(
      read.flatMap(([topic, numbers]) =>
        numbers.map((number): [string, number] => {
          const id = `${topic}/${String(number)}`;
          return [id, Number(this.around.coordinator.committed.get(id)?.offset ?? 0)];
        }),
      ),
    );
    return Object.fromEntries(read);
  }

  async #fetch(): Promise<void> {
    const { ends, random } = this.around;
    for (const [id, offset] of this.#seeks) {
      if (this.#positions.has(id)) this.#positions.set(id, offset);
    }
    this.#seeks.clear();
    const found: { id: string; from: number; end: number }[] = [];
    for (const [id, from] of this.#positions) {
      const end = Math.min(ends.get(id) ?? 0, from + MOST_IN_A_FETCH);
      if (from < end && !this.#paused.has(id)) found.push({ id, from, end });
    }
    await this.#wait(found.length > 0 ? random.between(1, 10) : FETCH_MS);
    for (const { id, from, end } of random.shuffled(found)) {
      if (this.#seeks.has(id) || this.#paused.has(id)) continue;
      const [topic = '', number] = id.split('/');
      const messages = Array.from({ length: end - from }, (_, i) => ({
        offset: from + i,
        timestamp: from + i,
        key: null,
        value: null,
        headers: {},
      }));
      const lastOffset = () => String(end - 1);
      const batch = {
        topic,
        partition: Number(number),
        messages,
        highWatermark: String(ends.get(id)),
        lastOffset,
      };
      await this.#eachBatch({
        batch,
        isRunning: () => this.#running,
        isStale: () => this.#seeks.has(id),
        resolveOffset: (offset: string) => this.#positions.set(id, Number(offset) + 1),
      } as unknown as EachBatchPayload);
    }
  }
}
