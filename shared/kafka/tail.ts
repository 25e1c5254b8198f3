import { type Admin } from 'kafkajs';
import { type Backoff, backoff, withDeadline, withTimeout } from '../runtime/async';
import { messageOf } from '../runtime/errors';
import { PollLiveness } from '../runtime/health';
import { type Log } from '../telemetry/log';
import { brokerClock } from './broker-clock';
import { type FetchWait, IdleWait } from './idle-wait';
import { type Cluster, type FetchResponse } from './client/cluster';
import { whileLeadersAreFound } from './client/leaderless';
import { NO_LEADER } from './protocol/metadata-request';
import { type InRecord, type Tail, type TailOptions } from './port';
import { type TailPosition, TailPositions } from './tail-positions';

/**
 * Reads a whole topic, or only its new records, for this process alone. It uses no consumer group,
 * so it never waits for a rebalance. A loop for each broker fetches the partitions that the broker
 * leads.
 *
 * Invariant: `completeAt` moves only with proof from a response: it names the partition, was not
 * throttled, and its high watermark lies at or before the position. After an interruption a new
 * leader may report an older high watermark. Then the position must also reach the end from
 * ListOffsets, which a new leader answers only once it knows it.
 */

const FETCH_BYTES = 1024 * 1024;
const PARTITION_BYTES = 256 * 1024;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const GOODBYE_MS = 1_000;
/** node id of the loop that waits for leaders */
const LEADERLESS = String(NO_LEADER);

export interface KafkaTailOptions extends TailOptions {
  prefix: string;
  wait: FetchWait;
  /** returns a cluster with separate connections that knows this topic */
  connect: (topic: string) => Promise<Cluster>;
  log: Log;
}

export class KafkaTail implements Tail {
  readonly #positions: TailPositions;
  /** by node id */
  readonly #loops = new Map<string, Promise<void>>();
  readonly #waiting = new Set<() => void>();
  readonly #progress = new PollLiveness();
  readonly #topic: string;
  readonly #wait: IdleWait;
  #cluster!: Cluster;
  #recovering: Promise<void> | undefined;
  #completeAt = -Infinity;
  #stopped = false;
  #wakeStopped: () => void = () => undefined;
  readonly #stopping = new Promise<void>((resolve) => (this.#wakeStopped = resolve));

  /**
   * @param admin for the start and `caughtUp`: fails while a partition that this reader needs has
   *   no leader
   * @param led for recoveries: omits partitions that have no leader
   */
  constructor(
    private readonly admin: Admin,
    private readonly led: Admin,
    private readonly options: KafkaTailOptions,
  ) {
    this.#topic = options.prefix + options.topic;
    this.#wait = new IdleWait(options.wait);
    this.#positions = new TailPositions(options.topic, options.from);
  }

  get completeAt(): number {
    return this.#completeAt;
  }

  /** An unreachable broker does not count as stuck: each failed try is progress. */
  stuck(): string | undefined {
    if (this.#progress.stuck() === undefined) return undefined;
    return (
      `the reader of ${this.options.topic} has made no progress for ` +
      `${Math.round(this.#progress.pollAgeMs)} ms`
    );
  }

  /**
   * Starts reading. Records appended after this has resolved will be seen. @throws an error of
   * kafkajs
   */
  async start(): Promise<void> {
    await this.#positions.findStart(this.admin, this.#topic);
    this.#cluster = await this.options.connect(this.#topic);
    this.#spread();
  }

  /**
   * Starts a loop for each broker that leads a partition and has none, and one for partitions that
   * have no leader.
   */
  #spread(): void {
    for (const { leader } of this.#cluster.findTopicPartitionMetadata(this.#topic)) {
      const node = String(leader);
      if (this.#stopped || this.#loops.has(node)) continue;
      const followed = Promise.resolve().then(() => this.#follow(node));
      const loop = followed.finally(() => this.#loops.delete(node));
      this.#loops.set(node, loop);
    }
  }

  /** Returns the partitions that a broker leads. */
  #ledBy(node: string): [partition: number, position: TailPosition][] {
    const all = this.#cluster.findTopicPartitionMetadata(this.#topic);
    return all
      .filter(({ leader }) => String(leader) === node)
      .map(({ partitionId }) => [partitionId, this.#positions.getOrBegin(partitionId)]);
  }

  async #follow(node: string): Promise<void> {
    const retry = this.#backoff();
    while (!this.#stopped) {
      this.#spread();
      const led = this.#ledBy(node);
      if (led.length === 0) return;
      try {
        await this.#fetchKnown(node, led);
        retry.reset();
      } catch (error) {
        if (this.#isStopped()) return;
        if (retry.nextMs === FIRST_PAUSE_MS) {
          const { log, name, topic } = this.options;
          log.warn({ name, topic, reason: messageOf(error) }, 'tail.interrupted');
        }
        for (const [, position] of led) this.#positions.interrupt(position);
        await retry.pause();
        await this.#recoverOnce();
      }
    }
  }

  /** Fetches the partitions whose start and end are known. The look-up of the others continues. */
  async #fetchKnown(
    nodeId: string,
    led: [partition: number, position: TailPosition][],
  ): Promise<void> {
    if (nodeId === LEADERLESS) {
      // The brokers answer: they know no leader.
      this.#progress.recordPoll();
      throw new Error(`partition ${led.map(([partition]) => partition).join(', ')} has no leader`);
    }
    await this.#cluster.refreshMetadataIfNecessary();
    const known = led.filter(([, { floor }]) => floor !== Infinity);
    const lookUp = known.length < led.length ? this.#recoverOnce() : undefined;
    if (known.length > 0) return this.#fetch(nodeId, known);
    await lookUp;
    // The look-up can know an older leader.
    if (led.every(([, { floor }]) => floor === Infinity)) {
      await withTimeout(FIRST_PAUSE_MS, this.#stopping);
    }
  }

  async #fetch(nodeId: string, led: [partition: number, position: TailPosition][]): Promise<void> {
    const begunAt = performance.now();
    const broker = await this.#cluster.findBroker({ nodeId });
    const partitions = led.map(([partition, { next }]) => ({
      partition,
      fetchOffset: String(next),
      maxBytes: PARTITION_BYTES,
    }));
    const fetched = { maxBytes: FETCH_BYTES, topics: [{ topic: this.#topic, partitions }] };
    const response = await broker.fetch({ ...this.#wait.nextFetchWait(), ...fetched });
    if (!this.#stopped) this.#take(response, begunAt);
  }

  #take({ responses, clientSideThrottleTime }: FetchResponse, begunAt: number): void {
    const fetched = responses.flatMap(({ partitions }) => partitions);
    // When one partition fills the response, others look empty.
    const isEmpty = fetched.every(({ next }) => next === undefined);
    if (!isEmpty) this.#wait.markActive();
    let progressed = clientSideThrottleTime > 0;
    const give = this.#give.bind(this);
    for (const each of fetched) {
      // An idle process may learn only here that the brokers' clock has gone ahead.
      brokerClock.read(each.messages.at(-1)?.timestamp ?? 0);
      progressed = this.#positions.take(each, { isEmpty, begunAt, give }) || progressed;
    }
    if (progressed) this.#progress.recordPoll();
    this.#wake();
    this.#advance();
  }

  #give(record: InRecord): void {
    try {
      this.options.onRecord(record);
    } catch (error) {
      this.options.onFatal(error);
    }
  }

  #advance(): void {
    const { completeAt } = this.#positions;
    if (completeAt <= this.#completeAt) return;
    this.#completeAt = completeAt;
    this.options.onComplete?.();
  }

  #recoverOnce(): Promise<void> {
    return (this.#recovering ??= this.#recover().finally(() => (this.#recovering = undefined)));
  }

  /**
   * Finds leaders and ends again, and retries until it has them. A failed try means that a broker
   * is unreachable.
   */
  async #recover(): Promise<void> {
    const retry = this.#backoff();
    while (!this.#stopped) {
      try {
        await this.#reconnect();
        await this.#positions.lookUp(this.led, this.#topic);
        return;
      } catch (error) {
        this.options.log.debug(
          { reason: messageOf(error), name: this.options.name },
          'tail.not_recovered',
        );
        this.#progress.recordPoll();
        await retry.pause();
      }
    }
  }

  #backoff(): Backoff {
    return backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) => withTimeout(ms, this.#stopping));
  }

  async #reconnect(): Promise<void> {
    try {
      await this.#cluster.refreshMetadata();
    } catch {
      const before = this.#cluster;
      this.#cluster = await this.options.connect(this.#topic);
      await before.disconnect().catch(() => undefined);
      if (this.#stopped) await this.#cluster.disconnect();
    }
  }

  async caughtUp(deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs;
    const askedAt = performance.now();
    const look = whileLeadersAreFound(() => this.admin.fetchTopicOffsets(this.#topic));
    const ends = await withDeadline(deadlineMs, look);
    while (!this.#positions.hasReached(ends)) {
      await withDeadline(until - performance.now(), this.#woken());
    }
    this.#positions.complete(ends, askedAt);
    this.#advance();
  }

  expectSoon(): void {
    this.#wait.expectSoon(() => this.caughtUp(GOODBYE_MS));
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeStopped();
    await this.#cluster.disconnect().catch(() => undefined);
    await withTimeout(GOODBYE_MS, Promise.all(this.#loops.values()));
  }

  /** A function, because the value may change during a wait. */
  #isStopped = () => this.#stopped;
}
