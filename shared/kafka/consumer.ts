import { type Consumer, type ConsumerGroupJoinEvent, type EachBatchPayload, type KafkaMessage } from 'kafkajs';
import { messageOf } from '../errors';
import { type Log } from '../telemetry/log';
import { Partition, TakenRecord } from './partition';
import { type Consumption, type ConsumeOptions } from './port';

/**
 * A consumer group whose records complete out of order.
 *
 * How it holds: the batch handler only dispatches and returns (the next fetch of a broker waits for the handlers of the
 * last one, so that one that waited would stop every partition). Each partition has a ledger; a timer commits the lowest
 * open offset. A rebalance raises the epoch: partitions that stay, with the same member id, keep their ledger and are
 * not read twice; the others are revoked, and what they still have in flight no longer reaches a commit.
 */

/** A crash repeats what was done since the last commit: short, at the price of one small request each. */
const COMMIT_EVERY_MS = 100;
/** Longer than any pause of a healthy loop: long polls are 100 ms. */
const STUCK_AFTER_MS = 60_000;
const DRAIN_POLL_MS = 20;

export class KafkaConsumption implements Consumption {
  readonly #partitions = new Map<string, Partition>();
  #memberId = '';
  #assignment = '';
  #joined = false;
  #stopping = false;
  #turnedAt = Date.now();
  #committing: Promise<void> = Promise.resolve();
  #commitTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly consumer: Consumer,
    private readonly prefix: string,
    private readonly options: ConsumeOptions,
    private readonly log: Log,
  ) {}

  /** Joins the group; resolves when kafkajs runs (the first assignment may come later). */
  async start(): Promise<void> {
    const { GROUP_JOIN, FETCH_START, CRASH, REBALANCING, HEARTBEAT } = this.consumer.events;
    for (const event of [FETCH_START, HEARTBEAT, REBALANCING] as const) {
      this.consumer.on(event, () => {
        this.#turnedAt = Date.now();
      });
    }
    this.consumer.on(GROUP_JOIN, (event) => this.#assigned(event));
    this.consumer.on(CRASH, ({ payload }) => {
      this.#turnedAt = Date.now();
      this.#joined = false;
      this.log.warn({ reason: messageOf(payload.error), restart: payload.restart }, 'consumer.crashed');
      if (!payload.restart) this.options.onFatal(payload.error);
    });
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: this.options.topics.map((t) => this.prefix + t), fromBeginning: true });
    await this.consumer.run({
      autoCommit: false,
      // Else a handler that returns early (a refused record) would skip the rest of its batch.
      eachBatchAutoResolve: false,
      eachBatch: (payload) => {
        this.#dispatch(payload);
        return Promise.resolve();
      },
    });
    this.#commitTimer = setInterval(() => void this.#commit(), COMMIT_EVERY_MS);
  }

  get joined(): boolean {
    return this.#joined;
  }

  get open(): number {
    let open = 0;
    for (const partition of this.#partitions.values()) open += partition.ledger.open;
    return open;
  }

  stuck(): string | undefined {
    const age = Date.now() - this.#turnedAt;
    return age > STUCK_AFTER_MS && !this.#stopping
      ? `the consumer loop has not turned for ${String(age)} ms`
      : undefined;
  }

  resume(): void {
    for (const partition of this.#partitions.values()) {
      if (!partition.full) continue;
      partition.full = false;
      if (!partition.timer) this.#read(partition);
    }
  }

  async stop(deadlineMs: number): Promise<void> {
    const until = Date.now() + deadlineMs;
    this.#stopping = true;
    // A batch that is returned unread is fetched again at once: without this the drain would be a busy loop.
    this.consumer.pause(this.options.topics.map((topic) => ({ topic: this.prefix + topic })));
    while (this.open > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    if (this.open > 0) this.log.warn({ open: this.open }, 'consumer.stopped_undrained');
    clearInterval(this.#commitTimer);
    // kafkajs drops commits without a word once it is stopped: the last one comes first.
    await this.#commit();
    for (const partition of this.#partitions.values()) partition.revoke();
    await this.consumer.disconnect();
  }

  #assigned({ payload }: ConsumerGroupJoinEvent): void {
    this.#turnedAt = Date.now();
    this.#joined = true;
    const sameMember = payload.memberId === this.#memberId;
    this.#memberId = payload.memberId;
    const assigned = new Set<string>();
    for (const [topic, numbers] of Object.entries(payload.memberAssignment)) {
      for (const number of numbers) assigned.add(`${topic}/${String(number)}`);
    }
    for (const [id, partition] of this.#partitions) {
      if (sameMember && assigned.has(id)) {
        // kafkajs forgets where it was and would read again from the last commit.
        const next = String(partition.ledger.next);
        this.consumer.seek({ topic: this.prefix + partition.topic, partition: partition.number, offset: next });
      } else {
        partition.revoke();
        this.#partitions.delete(id);
        // kafkajs keeps a partition paused over a rebalance: it must not come back so.
        this.#tell('resume', partition);
      }
    }
    // Joining again changes nothing as a rule (a first start joins twenty times in two seconds).
    const { groupId, memberAssignment } = payload;
    const assignment = JSON.stringify(memberAssignment);
    this.log[assignment === this.#assignment ? 'debug' : 'info'](
      { group: groupId, assignment: memberAssignment },
      'consumer.assigned',
    );
    this.#assignment = assignment;
  }

  #dispatch(payload: EachBatchPayload): void {
    const { batch } = payload;
    const first = batch.messages[0];
    if (this.#stopping || !first || !payload.isRunning() || payload.isStale()) return;
    const partition = this.#partitionOf(batch.topic, batch.partition, Number(first.offset));
    if (partition.full || partition.timer) return;
    let last: string | undefined;
    for (const message of batch.messages) {
      if (!this.#offer(partition, message)) break;
      last = message.offset;
    }
    if (last !== undefined) payload.resolveOffset(last);
  }

  /** @returns false where the record was refused: it and what follows is read again later */
  #offer(partition: Partition, message: KafkaMessage): boolean {
    const record = new TakenRecord(partition, message);
    if (!partition.ledger.take(record.offset)) return true;
    const verdict = this.options.onRecord(record);
    if (verdict === 'taken') return true;
    partition.ledger.untake(record.offset);
    this.#tell('pause', partition);
    if (verdict === 'full') {
      partition.full = true;
    } else {
      partition.timer = setTimeout(
        () => {
          partition.timer = undefined;
          if (!partition.full) this.#read(partition);
        },
        Math.max(0, verdict.againAtMs - Date.now()),
      );
    }
    return false;
  }

  #partitionOf(topic: string, number: number, start: number): Partition {
    const id = `${topic}/${String(number)}`;
    let partition = this.#partitions.get(id);
    if (!partition) {
      partition = new Partition(topic.slice(this.prefix.length), number, start);
      this.#partitions.set(id, partition);
    }
    return partition;
  }

  #read(partition: Partition): void {
    if (!partition.revoked) this.#tell('resume', partition);
  }

  #tell(what: 'pause' | 'resume', { topic, number }: Partition): void {
    this.consumer[what]([{ topic: this.prefix + topic, partitions: [number] }]);
  }

  /** One commit at a time; what a failed one left out is in the next. */
  #commit(): Promise<void> {
    this.#committing = this.#committing.then(async () => {
      const behind = [...this.#partitions.values()].flatMap((partition) => {
        const offset = partition.toCommit;
        return offset === undefined ? [] : [{ partition, offset }];
      });
      if (behind.length === 0) return;
      try {
        await this.consumer.commitOffsets(
          behind.map(({ partition, offset }) => ({
            topic: this.prefix + partition.topic,
            partition: partition.number,
            offset: String(offset),
          })),
        );
        for (const { partition, offset } of behind) partition.committed = offset;
      } catch (error) {
        this.log.warn({ reason: messageOf(error) }, 'commit.failed');
      }
    });
    return this.#committing;
  }
}
