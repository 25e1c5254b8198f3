import { type Admin, type Consumer, type ConsumerGroupJoinEvent, type EachBatchPayload } from 'kafkajs';
import { messageOf } from '../errors';
import { type Log } from '../telemetry/log';
import { fetchedRecords } from './codec/install';
import { Committer } from './committer';
import { LastingConsumer } from './lasting';
import { idOf, placesOf, readCommitted, type Place } from './committed';
import { type Membership, reportAssignments } from './membership';
import { Offers } from './offers';
import { Partition } from './partition';
import { Loop } from './loop';
import { type ConsumerMeter, meterConsumer } from './meters';
import { readEnds } from './offsets';
import { type Consumption, type ConsumeOptions } from './port';

/**
 * A consumer group whose records complete out of order, and whose planned changes repeat nothing.
 *
 * How it holds: the batch handler only dispatches and returns (the next fetch of a broker waits for the handlers of the
 * last one, so that one that waited would stop every partition). Each partition has a ledger; a timer commits the lowest
 * open offset, and in the commit's metadata what is done above it. In a rebalance (assign.ts) partitions that stay keep
 * their ledger and are not read twice; those that must move drain first, and are claimed until they are committed. A
 * partition that is new here begins where its last owner's commit and metadata say.
 */

/** A crash repeats what was done since the last commit: short, at the price of one small request each. */
const COMMIT_EVERY_MS = 100;
const DRAIN_POLL_MS = 20;
const RESTORE_RETRY_MS = 200;

interface Parts {
  make: () => Consumer;
  admin: Admin;
  membership: Membership;
  /** the whole name of the group */
  groupId: string;
  /** the partition of a key, in a topic without prefix */
  partitionOf: (topic: string, key: string) => number;
  prefix: string;
  log: Log;
}

export class KafkaConsumption implements Consumption {
  readonly #partitions = new Map<string, Partition>();
  /** partitions whose last commit is being looked up: what is read of them meanwhile is read again */
  readonly #restoring = new Set<string>();
  /** what was ours in a session that is lost: ours again, where nobody has committed since */
  readonly #orphans = new Map<string, Partition>();
  readonly #life: LastingConsumer;
  #memberId = '';
  readonly #report: (payload: ConsumerGroupJoinEvent['payload']) => void;
  joined = false;
  #stopping = false;
  readonly #loop = new Loop();
  readonly #committer: Committer;
  readonly #offers: Offers;
  #commitTimer: NodeJS.Timeout | undefined;
  readonly #meter: ConsumerMeter;

  constructor(
    private readonly parts: Parts,
    private readonly options: ConsumeOptions,
  ) {
    this.#report = reportAssignments(parts.log);
    const onCrash = () => {
      this.joined = false;
      this.#loop.turned();
      // Nothing can be told to a consumer that does not run yet, and what was refused is read again by the next one.
      for (const partition of this.#partitions.values()) partition.putDown();
    };
    this.#offers = new Offers({
      onRecord: (record) => options.onRecord(record),
      tell: (what, partition) => this.#tell(what, partition),
      stopping: () => this.#stopping,
    });
    const ends = (topic: string) => readEnds(parts.admin, parts.prefix + topic);
    this.#meter = meterConsumer({ ...options, ends, of: this, loop: this.#loop, partitions: this.#partitions });
    this.#committer = new Committer({
      partitions: () => (this.joined ? this.#partitions.values() : []),
      send: (offsets) =>
        this.#consumer.commitOffsets(offsets.map((entry) => ({ ...entry, topic: parts.prefix + entry.topic }))),
      after: () => this.#letGo(),
      astray: () => parts.membership.askForRound(),
      log: parts.log,
    });
    this.#life = new LastingConsumer({
      make: parts.make,
      live: (consumer) => this.#live(consumer),
      onCrash,
      log: parts.log,
    });
  }

  /** Joins the group; resolves when kafkajs runs (the first assignment may come later). */
  async start(): Promise<void> {
    await this.#life.start();
    this.#commitTimer = setInterval(() => void this.#committer.run(Date.now()), COMMIT_EVERY_MS);
  }

  async #live(consumer: Consumer): Promise<void> {
    const { membership, prefix } = this.parts;
    const { GROUP_JOIN, FETCH_START, REBALANCING, HEARTBEAT, REQUEST_TIMEOUT } = consumer.events;
    const turns = [FETCH_START, HEARTBEAT, REBALANCING, REQUEST_TIMEOUT];
    for (const event of turns) consumer.on(event, () => this.#loop.turned());
    consumer.on(FETCH_START, () => membership.checkRound());
    consumer.on(GROUP_JOIN, (event) => {
      if (consumer === this.#consumer) this.#assigned(event);
    });
    await consumer.subscribe({ topics: this.options.topics.map((t) => prefix + t), fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      // Else a handler that returns early (a refused record) would skip the rest of its batch.
      eachBatchAutoResolve: false,
      eachBatch: (payload) => {
        try {
          if (consumer === this.#consumer) this.#dispatch(payload);
        } catch (error) {
          // kafkajs would offer it again without end.
          this.options.onFatal(error);
        }
        return Promise.resolve();
      },
    });
  }

  get #consumer(): Consumer {
    return this.#life.current;
  }

  get open(): number {
    return [...this.#partitions.values()].reduce((sum, { ledger }) => sum + ledger.open, 0);
  }

  owns(topic: string, key: string): boolean {
    return this.parts.membership.assigned.has(this.parts.partitionOf(topic, key));
  }

  stuck(): string | undefined {
    return this.#stopping ? undefined : this.#loop.stuck();
  }

  resume(): void {
    for (const partition of this.#partitions.values()) if (!partition.timer) this.#offers.rest(partition);
  }

  async stop(deadlineMs: number): Promise<void> {
    const until = Date.now() + deadlineMs;
    this.#stopping = true;
    this.parts.membership.leaving = true;
    // A batch that is returned unread is fetched again at once: without this the drain would be a busy loop.
    if (this.joined) this.#consumer.pause(this.options.topics.map((topic) => ({ topic: this.parts.prefix + topic })));
    this.#drain([...this.#partitions.values()]);
    // kafkajs drops commits without a word once it is stopped: the last one comes first.
    const drained = () => [...this.#partitions.values()].every((partition) => partition.drained);
    while (!drained() && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
      if (this.open === 0) await this.#committer.run(Infinity);
    }
    clearInterval(this.#commitTimer);
    await this.#committer.run(Infinity);
    if (!drained()) this.parts.log.warn({ open: this.open }, 'consumer.stopped_undrained');
    for (const partition of this.#partitions.values()) partition.revoke();
    this.joined = false;
    this.#meter.end();
    await this.#life.stop();
  }

  #assigned({ payload }: ConsumerGroupJoinEvent): void {
    const { membership } = this.parts;
    this.#loop.turned();
    this.joined = true;
    // Another member id: the session was lost, and others may have had what was ours.
    if (payload.memberId !== this.#memberId) this.#orphanAll();
    const before = membership.assigned;
    this.#memberId = payload.memberId;
    membership.joinedAt = Date.now();
    membership.assigned = new Set(Object.values(payload.memberAssignment).flat());
    const assigned = placesOf(payload.memberAssignment);
    for (const id of this.#restoring) if (!assigned.delete(id)) this.#restoring.delete(id);
    const lost = [...this.#partitions].flatMap(([id, partition]) => (assigned.has(id) ? [] : [partition]));
    for (const [id, partition] of this.#partitions) if (assigned.delete(id)) this.#keep(partition);
    this.#drain(lost);
    membership.handOver(before, this.options.keeper);
    if (assigned.size > 0) void this.#restore([...assigned.values()]);
    this.#report(payload);
  }

  /** kafkajs forgets where it was and would read again from the last commit. */
  #keep(partition: Partition): void {
    const { prefix, membership } = this.parts;
    const offset = String(partition.ledger.readFrom);
    this.#consumer.seek({ topic: prefix + partition.topic, partition: partition.number, offset });
    // What was kept is fetched again from there: kept twice, it would be skipped as a second reading.
    if (partition.putDown() && !this.#stopping) this.#tell('resume', partition);
    if (!partition.draining || this.#stopping) return;
    // It comes back before it was let go.
    partition.draining = false;
    membership.draining.delete(partition.number);
    this.#tell('resume', partition);
  }

  /** Nothing more of them is begun here. */
  #drain(partitions: readonly Partition[]): void {
    for (const partition of partitions) {
      partition.drain();
      this.parts.membership.draining.add(partition.number);
    }
    if (partitions.length > 0) this.options.onLeaving?.();
  }

  /** Drained and committed partitions are let go; when the last one is, the others may have them. */
  #letGo(): void {
    const { membership } = this.parts;
    if (membership.draining.size === 0) return;
    for (const [id, partition] of this.#partitions) {
      if (!partition.draining || !partition.drained) continue;
      partition.revoke();
      this.#partitions.delete(id);
      // kafkajs keeps a partition paused over a rebalance: it must not come back so.
      if (!this.#stopping) this.#tell('resume', partition);
    }
    if ([...this.#partitions.values()].some((partition) => partition.draining)) return;
    if (membership.isHeld(this.options.keeper)) return;
    membership.draining.clear();
    if (!this.#stopping) membership.askForRound();
  }

  #orphanAll(): void {
    for (const [id, partition] of this.#partitions) {
      partition.putDown();
      this.#orphans.set(id, partition);
    }
    this.options.keeper?.lost();
    this.#partitions.clear();
    this.#restoring.clear();
    this.parts.membership.draining.clear();
  }

  /** A partition as it was committed last: our own of the lost session, where that commit is still ours. */
  #adopt(id: string, committed: Partition): void {
    const orphan = this.#orphans.get(id);
    this.#orphans.delete(id);
    if (orphan && committed.committed <= orphan.committed) {
      orphan.draining = false;
      this.#partitions.set(id, orphan);
      this.#keep(orphan);
      return;
    }
    orphan?.revoke();
    // Never committed: its first record tells where it begins.
    if (committed.committed >= 0) this.#partitions.set(id, committed);
  }

  /**
   * Looks up what the last owner had done; until then nothing of the partitions is taken. They are paused only where that fails:
   * kafkajs waits for a whole long poll where it has nothing to fetch, and a look-up takes some milliseconds.
   */
  async #restore(places: Place[]): Promise<void> {
    const { admin, groupId, prefix, log } = this.parts;
    const memberId = this.#memberId;
    const paused = places.map(({ topic, number }) => ({ topic, partitions: [number] }));
    for (const place of places) this.#restoring.add(idOf(place));
    for (;;) {
      try {
        const partitions = await readCommitted({ admin, groupId, prefix, places });
        if (memberId !== this.#memberId) return;
        for (const [i, partition] of partitions.entries()) {
          const id = idOf(places[i] ?? { topic: '', number: -1 });
          // Unless it is lost again meanwhile.
          if (this.#restoring.delete(id)) this.#adopt(id, partition);
        }
        break;
      } catch (error) {
        log.warn({ reason: messageOf(error) }, 'offsets.not_read');
        // In another session others look, and nothing of theirs may stay paused.
        if (memberId !== this.#memberId) return;
        this.#order('pause', paused);
        await new Promise((resolve) => setTimeout(resolve, RESTORE_RETRY_MS));
      }
    }
    if (!this.#stopping) this.#order('resume', paused);
  }

  #dispatch(payload: EachBatchPayload): void {
    const { batch } = payload;
    const first = batch.messages[0];
    const id = idOf({ topic: batch.topic, number: batch.partition });
    if (this.#stopping || this.#restoring.has(id) || !first || !payload.isRunning() || payload.isStale()) return;
    let partition = this.#partitions.get(id);
    if (!partition) {
      partition = new Partition(batch.topic.slice(this.parts.prefix.length), batch.partition, Number(first.offset));
      this.#partitions.set(id, partition);
    }
    if (partition.draining || partition.waits) return;
    const records = fetchedRecords(batch);
    this.#meter.read(partition, records);
    this.#offers.all(partition, records);
    // What was refused is kept here: it need not be fetched again.
    payload.resolveOffset(batch.lastOffset());
  }

  #tell(what: 'pause' | 'resume', { topic, number }: Partition): void {
    this.#order(what, [{ topic: this.parts.prefix + topic, partitions: [number] }]);
  }

  /** kafkajs throws where it has crashed meanwhile. */
  #order(what: 'pause' | 'resume', topics: { topic: string; partitions?: number[] }[]): void {
    if (this.joined) this.#consumer[what](topics);
  }
}
