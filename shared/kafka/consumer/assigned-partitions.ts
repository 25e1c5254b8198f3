import { type Admin } from 'kafkajs';
import { withTimeout } from '../../service/async';
import { messageOf } from '../../service/errors';
import { type Log } from '../../telemetry/log';
import { idOf, type TopicPartition, readCommitted } from './committed-offsets';
import { type Membership } from './membership';
import { readBounds } from '../leader-retry';
import { type Cut, Partition } from './partition';
import { type ConsumeOptions } from '../port';

/**
 * Tracks the partitions of one member from round to round: it keeps those that stay, drains those that it loses, looks up
 * where those begin that it gets, and takes back what is still its own after a lost session.
 */

const RESTORE_RETRY_MS = 200;
const ENDS_MS = 1_000;

/** Orders to the consumer of the moment; topics have their whole names. */
export interface ConsumerCommands {
  seek(place: TopicPartition, offset: number): void;
  pause(places: readonly TopicPartition[]): unknown;
  resume(places: readonly TopicPartition[]): unknown;
}

interface Parts extends Pick<ConsumeOptions, 'rebalanceListener' | 'onRevoking'> {
  admin: Admin;
  membership: Membership;
  /** the whole name of the group */
  groupId: string;
  prefix: string;
  orders: ConsumerCommands;
  stopping: () => boolean;
  /** a partition's log ended before what the group had read; it begins at that end */
  onTruncated: (partition: Partition, offsets: number) => void;
  log: Log;
}

export class AssignedPartitions {
  /** by id */
  readonly partitions = new Map<string, Partition>();
  /** partitions whose last commit is being looked up, each with its look-up: what is read of them meanwhile is read again */
  readonly #restoring = new Map<string, object>();
  /** partitions of a session that is lost: taken back where no other owner has committed since */
  readonly #orphans = new Map<string, Partition>();
  /** of the present session */
  memberId = '';

  constructor(private readonly parts: Parts) {}

  /** Takes over the assignment of a round. */
  enter(memberId: string, places: ReadonlyMap<string, TopicPartition>): void {
    const { membership, rebalanceListener } = this.parts;
    // Another member id: the session was lost, and others may have had its partitions.
    const sameSession = memberId === this.memberId;
    if (!sameSession) this.#orphanAll();
    this.memberId = memberId;
    membership.enter(places, sameSession);
    const fresh = new Map(places);
    for (const id of this.#restoring.keys()) if (!fresh.delete(id)) this.#restoring.delete(id);
    for (const [id, partition] of this.partitions) if (fresh.delete(id)) this.#keep(partition);
    this.#giveUp();
    rebalanceListener?.onAssigned(membership.copartitions);
    if (fresh.size > 0) void this.#restore([...fresh.values()]);
  }

  /** Whether records of it may be dispatched: it is assigned, and it is known where it begins. */
  isOpen(id: string): boolean {
    return this.parts.membership.assigned.has(id) && !this.#restoring.has(id);
  }

  /** Begins nothing more of any partition. */
  drainAll(how: 'drain' | 'fence'): void {
    for (const partition of this.partitions.values()) partition[how]();
    if (this.partitions.size > 0) this.parts.onRevoking?.();
  }

  /** Lets go of drained and committed partitions; with the last one, others may have them. */
  letGo(): void {
    const { membership } = this.parts;
    if (membership.draining.size === 0) return;
    for (const [id, { number }] of membership.draining) {
      const partition = this.partitions.get(id);
      if ((partition && !partition.drained) || this.parts.rebalanceListener?.isDraining(number)) continue;
      membership.draining.delete(id);
      if (!partition) continue;
      partition.fence();
      this.partitions.delete(id);
      // kafkajs keeps a partition paused over a rebalance: it must not come back so.
      if (!this.parts.stopping()) this.parts.orders.resume([this.#placeOf(partition)]);
    }
    if (membership.draining.size === 0 && !this.parts.stopping()) membership.askForRound();
  }

  /** Reads on from the first deferred record of each partition. */
  readDeferred(): void {
    for (const partition of this.partitions.values()) {
      if (!partition.draining && partition.offsets.released > 0) this.#keep(partition);
    }
  }

  /** Begins nothing more of the partitions that are not assigned any more. */
  #giveUp(): void {
    const { assigned } = this.parts.membership;
    let leaves = false;
    for (const [id, partition] of this.partitions) {
      if (assigned.has(id) || partition.draining) continue;
      partition.drain();
      leaves = true;
    }
    for (const [id, orphan] of this.#orphans) {
      if (assigned.has(id)) continue;
      orphan.fence();
      this.#orphans.delete(id);
      leaves = true;
    }
    if (leaves) this.parts.onRevoking?.();
  }

  /** kafkajs forgets where it was and would read again from the last commit. */
  #keep(partition: Partition): void {
    this.parts.orders.seek(this.#placeOf(partition), partition.offsets.readFrom);
    // What was kept is fetched again from there: kept twice, it would be skipped as a second reading.
    if (partition.discardBuffered() && !this.parts.stopping()) this.parts.orders.resume([this.#placeOf(partition)]);
    if (!partition.draining || this.parts.stopping()) return;
    // It comes back before it was let go.
    partition.reopen();
    this.parts.orders.resume([this.#placeOf(partition)]);
  }

  #orphanAll(): void {
    for (const [id, partition] of this.partitions) {
      partition.discardBuffered();
      this.#orphans.set(id, partition);
    }
    this.parts.rebalanceListener?.onLost();
    this.partitions.clear();
    this.#restoring.clear();
  }

  /**
   * Takes a partition as it was committed last: from the lost session, where no other owner has committed since.
   * @returns whether what is left of the lost session is another's now
   */
  #adopt(id: string, committed: Partition, end: number): boolean {
    const orphan = this.#orphans.get(id);
    this.#orphans.delete(id);
    if (committed.committed > end) {
      orphan?.fence();
      this.#beginAt(id, committed, end);
      return orphan !== undefined;
    }
    if (orphan?.isLastOwner(committed)) {
      orphan.reopen();
      this.partitions.set(id, orphan);
      this.#keep(orphan);
      return false;
    }
    orphan?.fence();
    // Where no offset was ever committed, the first record tells where the partition begins.
    if (committed.committed >= 0) this.partitions.set(id, committed);
    return orphan !== undefined;
  }

  /**
   * Looks up what the last owner had done; until then nothing of the partitions is taken. They are paused only where that fails:
   * kafkajs waits for a whole long poll where it has nothing to fetch, and a look-up takes some milliseconds.
   */
  async #restore(places: TopicPartition[]): Promise<void> {
    const { admin, groupId, prefix, log, orders } = this.parts;
    const memberId = this.memberId;
    for (const place of places) this.#restoring.set(idOf(place), places);
    for (;;) {
      try {
        const [partitions, ends] = await Promise.all([
          readCommitted({ admin, groupId, prefix, places }),
          this.#readEnds(places),
        ]);
        if (memberId !== this.memberId) return;
        let leaves = false;
        for (const [i, partition] of partitions.entries()) {
          const id = idOf(places[i] ?? { topic: '', number: -1 });
          // It may be lost again, or have come back and be looked up once more.
          if (this.#restoring.get(id) !== places) continue;
          this.#restoring.delete(id);
          leaves = this.#adopt(id, partition, ends.get(id) ?? Infinity) || leaves;
        }
        if (leaves) this.parts.onRevoking?.();
        break;
      } catch (error) {
        log.warn({ reason: messageOf(error) }, 'offsets.not_read');
        // In another session others look, and nothing of theirs may stay paused.
        if (memberId !== this.memberId) return;
        if (!places.some((place) => this.#restoring.get(idOf(place)) === places)) return;
        orders.pause(places);
        await new Promise((resolve) => setTimeout(resolve, RESTORE_RETRY_MS));
      }
    }
    if (!this.parts.stopping()) orders.resume(places);
  }

  /**
   * The log of a partition was cut, or made again, while it was read: reading goes on with what came since. Until that is found
   * the partition is held as before, so that another member has it only when its open records are done or given back.
   */
  beginAgain(id: string, partition: Partition, cut: Cut): void {
    void this.#findNewer(id, partition, cut);
  }

  async #findNewer(id: string, partition: Partition, cut: Cut): Promise<void> {
    const { admin, log } = this.parts;
    const { topic, number } = this.#placeOf(partition);
    this.#restoring.set(id, partition);
    while (this.#restoring.get(id) === partition) {
      try {
        const end = (await readBounds(admin, topic)).get(number)?.high ?? 0;
        // What is older than the newest that was read was read as well, or is gone.
        const newer = await admin.fetchTopicOffsetsByTimestamp(topic, (partition.newestAtMs ?? Date.now()) + 1);
        const offset = Number(newer.find((found) => found.partition === number)?.offset ?? end);
        if (this.#restoring.get(id) !== partition) return;
        this.#restoring.delete(id);
        if (cut === 'ends_before' && end >= partition.offsets.next) {
          this.#keep(partition);
          return;
        }
        partition.fence();
        this.parts.onRevoking?.();
        this.#beginAt(id, partition, offset);
      } catch (error) {
        log.warn({ reason: messageOf(error) }, 'offsets.not_read');
        await new Promise((resolve) => setTimeout(resolve, RESTORE_RETRY_MS));
      }
    }
  }

  #beginAt(id: string, { topic, number, committed }: Partition, offset: number): void {
    const partition = Partition.atEnd(topic, number, offset);
    this.parts.onTruncated(partition, Math.max(1, committed - offset));
    this.partitions.set(id, partition);
    this.parts.orders.seek(this.#placeOf(partition), offset);
  }

  /** The ends of partitions, by id, as far as they can be had at once: a partition without a leader must not hold up others. */
  async #readEnds(places: readonly TopicPartition[]): Promise<Map<string, number>> {
    const ends = new Map<string, number>();
    const topics = new Set(places.map(({ topic }) => topic));
    const looks = [...topics].map(async (topic) => {
      for (const [number, { high }] of await readBounds(this.parts.admin, topic))
        ends.set(idOf({ topic, number }), high);
    });
    await withTimeout(ENDS_MS, Promise.allSettled(looks));
    return ends;
  }

  #placeOf({ topic, number }: Partition): TopicPartition {
    return { topic: this.parts.prefix + topic, number };
  }
}
