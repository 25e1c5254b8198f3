import { type Consumer, type ConsumerGroupJoinEvent } from 'kafkajs';
import { sleep } from '../../runtime/async';
import { PollLiveness } from '../../runtime/health';
import { type Log } from '../../telemetry/log';
import { Committer, type GroupOffsets } from './committer';
import { RestartingConsumer, runConsumer } from '../client/restarting-consumer';
import { type TopicPartition, type Partition } from './partition';
import { readUnassignedLag } from '../client/describe-group';
import { AssignedPartitions } from './assigned-partitions';
import { type Membership, reportAssignments, topicPartitionsOf } from '../client/membership';
import { SESSION_MS } from './returning-members';
import { BatchHandler, Dispatcher } from './dispatcher';
import { type ConsumerMeter, meterConsumer } from '../metrics';
import { type Consumption, type ConsumeOptions } from '../port';

/**
 * Reads topics in a consumer group. Records complete in any order, and a planned rebalance repeats
 * only records for which the commit metadata has no room (offset-tracker.ts): those done long after
 * a deferred record.
 *
 * The batch handler only dispatches and returns: the next fetch of a broker waits for the handlers
 * of the last one, so that a waiting handler would stop every partition. Each partition has an
 * offset tracker. A timer commits the lowest open offset, and in the commit metadata the records
 * done above it. In a rebalance (cooperative-assignor.ts) partitions that stay keep their tracker
 * and are not read twice. Partitions that move drain first, and are claimed until they are
 * committed. A new partition starts where the commit and the metadata of its last owner say.
 */

/** A crash repeats the records done since the last commit, so that this is short. */
const COMMIT_EVERY_MS = 100;
const DRAIN_POLL_MS = 20;

interface ConsumerParts extends GroupOffsets {
  make: () => Consumer;
  membership: Membership;
  /** returns the partition of a key; the topic is without prefix */
  partitionOf: (topic: string, key: string) => number;
  /**
   * returns when the record at this offset was appended, ms since 1970; undefined if there is none
   */
  appendedAt: (place: TopicPartition, offset: number) => Promise<number | undefined>;
  log: Log;
}

export class KafkaConsumption implements Consumption {
  readonly #owned: AssignedPartitions;
  readonly #restarting: RestartingConsumer;
  readonly #report: (payload: ConsumerGroupJoinEvent['payload']) => void;
  joined = false;
  #stopping = false;
  readonly #liveness = new PollLiveness();
  readonly #committer: Committer;
  readonly #dispatcher: Dispatcher;
  readonly #batches: BatchHandler;
  #commitTimer: NodeJS.Timeout | undefined;
  /** by `performance.now()` */
  #tickedAt = 0;
  #readsDeferred = false;
  readonly #meter: ConsumerMeter;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    this.#report = reportAssignments(parts.log);
    const onCrash = () => {
      this.joined = false;
      this.#liveness.recordPoll();
      // A consumer that does not run yet takes no commands, and the next one reads refused records
      // again.
      for (const partition of this.#held()) partition.discardBuffered();
    };
    this.#restarting = new RestartingConsumer({
      make: parts.make,
      live: (consumer) => this.#live(consumer),
      onCrash,
      log: parts.log,
    });
    const orders = this.#restarting.commands(() => this.joined);
    this.#owned = new AssignedPartitions({
      ...parts,
      ...options,
      orders,
      stopping: () => this.#stopping,
      onMissed: (partition, reason, offsets) => this.#batches.missed(partition, reason, offsets),
    });
    this.#dispatcher = new Dispatcher({
      onRecord: (record) => options.onRecord(record),
      command: (what, { topic, number }) => orders[what]([{ topic: parts.prefix + topic, number }]),
      stopping: () => this.#stopping,
      onFull: ({ topic, number: partition, offsets }) =>
        parts.log.warn(
          { group: options.group, topic, partition, deferred: offsets.released },
          'consumer.partition_full',
        ),
    });
    const { admin, prefix } = parts;
    this.#meter = meterConsumer({
      ...options,
      admin,
      prefix,
      of: this,
      liveness: this.#liveness,
      partitions: this.#owned.partitions,
      unassigned: (bounds) =>
        readUnassignedLag({ ...parts, memberId: () => this.#owned.memberId }, bounds),
    });
    this.#batches = new BatchHandler({
      prefix,
      group: options.group,
      owned: this.#owned,
      dispatcher: this.#dispatcher,
      meter: this.#meter,
      stopping: () => this.#stopping,
      log: parts.log,
    });
    this.#committer = new Committer({
      partitions: () => (this.joined ? this.#held() : []),
      send: (offsets) =>
        this.#consumer.commitOffsets(
          offsets.map((entry) => ({ ...entry, topic: parts.prefix + entry.topic })),
        ),
      after: () => this.#owned.letGo(),
      coordinatorMoved: () => parts.membership.askForRound(),
      log: parts.log,
    });
  }

  /**
   * Joins the group. Resolves when kafkajs runs (the first assignment may come later).
   * @throws an error of kafkajs, after this consumer was ended
   */
  async start(): Promise<void> {
    try {
      await this.#restarting.start();
    } catch (error) {
      await this.#end().catch(() => undefined);
      throw error;
    }
    this.#tickedAt = performance.now();
    this.#commitTimer = setInterval(() => this.#tick(), COMMIT_EVERY_MS);
  }

  #tick(): void {
    const now = performance.now();
    // The last heartbeat was sent some time before the stall began.
    if (now - this.#tickedAt > SESSION_MS / 2) this.#stoodStill();
    this.#tickedAt = now;
    if (this.#readsDeferred && this.joined && !this.#stopping) {
      this.#readsDeferred = false;
      this.#owned.readDeferred();
    }
    void this.#committer.run(now);
  }

  /**
   * Hands back unstarted records after a stall, before kafkajs notices a lost session: it was so
   * long that others may own the partitions. If the session is not lost, the records are read again
   * after the next round.
   */
  #stoodStill(): void {
    if (this.#stopping || this.#owned.partitions.size === 0) return;
    this.parts.log.warn({ group: this.parts.groupId }, 'consumer.stalled');
    this.#owned.drainAll('fence');
    this.parts.membership.askForRound();
  }

  async #live(consumer: Consumer): Promise<void> {
    const { membership, prefix } = this.parts;
    const { GROUP_JOIN, FETCH_START, REBALANCING, HEARTBEAT, REQUEST_TIMEOUT } = consumer.events;
    const turns = [FETCH_START, HEARTBEAT, REBALANCING, REQUEST_TIMEOUT];
    for (const event of turns) consumer.on(event, () => this.#liveness.recordPoll());
    consumer.on(FETCH_START, () => membership.checkRound());
    consumer.on(HEARTBEAT, ({ payload }) => {
      if (consumer === this.#consumer) membership.onHeartbeat(payload.groupGenerationId);
    });
    consumer.on(GROUP_JOIN, (event) => {
      if (consumer === this.#consumer) this.#assigned(event);
    });
    const topics = this.options.topics.map((topic) => prefix + topic);
    await runConsumer(consumer, topics, {
      onBatch: (payload) => {
        if (consumer === this.#consumer) this.#batches.handle(payload);
      },
      onFatal: (error) => this.options.onFatal(error),
    });
  }

  get #consumer(): Consumer {
    return this.#restarting.current;
  }

  #held(): Iterable<Partition> {
    return this.#owned.partitions.values();
  }

  get open(): number {
    return [...this.#held()].reduce((sum, { offsets }) => sum + offsets.open, 0);
  }

  get deferred(): number {
    return [...this.#held()].reduce((sum, { offsets }) => sum + offsets.released, 0);
  }

  /**
   * Takes effect at the next tick: the end of a batch would override a seek in the middle of it.
   */
  readDeferred(): void {
    this.#readsDeferred = true;
  }

  owns(topic: string, key: string): boolean {
    return this.parts.membership.copartitions.has(this.parts.partitionOf(topic, key));
  }

  stuck(): string | undefined {
    return this.#stopping ? undefined : this.#liveness.stuck();
  }

  resume(): void {
    for (const partition of this.#held()) {
      if (!partition.timer) this.#dispatcher.dispatchBuffered(partition);
    }
  }

  async stop(deadlineMs: number): Promise<void> {
    if (this.#stopping) return;
    const until = performance.now() + deadlineMs;
    this.#stopping = true;
    this.parts.membership.leaving = true;
    // kafkajs fetches an unread batch again immediately: without the pause the drain would be a
    // busy loop.
    if (this.joined) {
      this.#consumer.pause(
        this.options.topics.map((topic) => ({ topic: this.parts.prefix + topic })),
      );
    }
    this.#owned.drainAll('drain');
    // kafkajs drops commits silently once it is stopped, so the last commit comes first.
    const drained = () => [...this.#held()].every((partition) => partition.drained);
    while (!drained() && performance.now() < until) {
      await sleep(DRAIN_POLL_MS);
      if (this.open === 0) await this.#committer.run(Infinity);
    }
    clearInterval(this.#commitTimer);
    await this.#committer.run(Infinity);
    if (!drained()) this.parts.log.warn({ open: this.open }, 'consumer.stopped_undrained');
    this.#owned.drainAll('fence');
    await this.#end();
  }

  async #end(): Promise<void> {
    this.joined = false;
    this.#stopping = true;
    this.#meter.end();
    await this.#restarting.stop();
  }

  #assigned({ payload }: ConsumerGroupJoinEvent): void {
    this.#liveness.recordPoll();
    this.joined = true;
    this.#owned.enter(payload.memberId, topicPartitionsOf(payload.memberAssignment));
    this.#report(payload);
  }
}
