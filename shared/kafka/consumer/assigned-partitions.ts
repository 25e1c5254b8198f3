import { sleep } from '../../runtime/async';
import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type GroupOffsets, readKnownBounds, readNewer, readStarts, type Start } from './committer';
import { idOf, type TopicPartition, type Cut, Partition } from './partition';
import { type Membership } from '../client/membership';
import { type ConsumerCommands } from '../client/restarting-consumer';
import { type Missed } from '../metrics';
import { type ConsumeOptions } from '../port';

/**
 * Tracks the partitions of one member from round to round: it keeps partitions that stay, drains
 * revoked ones, looks up where new ones start, and reclaims its own after a lost session.
 */

const RETRY_MS = 200;

interface AssignmentParts
  extends GroupOffsets, Pick<ConsumeOptions, 'rebalanceListener' | 'onRevoking'> {
  membership: Membership;
  orders: ConsumerCommands;
  stopping: () => boolean;
  /**
   * called with offsets that no longer exist: of deferred records, or of records that were read
   * before a log was cut
   */
  onMissed: (partition: Partition, reason: Missed, offsets: number) => void;
  log: Log;
}

export class AssignedPartitions {
  readonly partitions = new Map<string, Partition>();
  /**
   * partitions whose last commit is being looked up, each with its look-up; records that arrive
   * before are read again
   */
  readonly #restoring = new Map<string, object>();
  /**
   * partitions that must read their deferred records again, each with its look-up of the log's
   * start
   */
  readonly #goingBack = new Map<string, object>();
  /** partitions of a lost session: taken back if no other owner has committed since */
  readonly #orphans = new Map<string, Partition>();
  memberId = '';

  constructor(private readonly parts: AssignmentParts) {}

  /** Applies the assignment of a round. */
  enter(memberId: string, given: ReadonlyMap<string, TopicPartition>): void {
    const { membership, rebalanceListener, orders } = this.parts;
    const places = membership.accept(given, orders);
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

  /**
   * Returns whether records may be dispatched: the partition is assigned, and its start is known.
   */
  isOpen(id: string): boolean {
    return (
      this.parts.membership.assigned.has(id) && !this.#restoring.has(id) && !this.#goingBack.has(id)
    );
  }

  /** Starts no more records of any partition. */
  drainAll(how: 'drain' | 'fence'): void {
    for (const partition of this.partitions.values()) partition[how]();
    if (this.partitions.size > 0) this.parts.onRevoking?.();
  }

  /** Releases drained and committed partitions, and asks for another round after the last one. */
  letGo(): void {
    const { membership } = this.parts;
    if (membership.draining.size === 0) return;
    for (const [id, { number }] of membership.draining) {
      const partition = this.partitions.get(id);
      if ((partition && !partition.drained) || this.parts.rebalanceListener?.isDraining(number)) {
        continue;
      }
      membership.draining.delete(id);
      if (!partition) continue;
      partition.fence();
      this.partitions.delete(id);
      // kafkajs keeps a partition paused over a rebalance. It must not be paused when it is
      // assigned here again.
      if (!this.parts.stopping()) this.parts.orders.resume([this.#placeOf(partition)]);
    }
    if (membership.draining.size === 0 && !this.parts.stopping()) membership.released();
  }

  /** Reads on from the first deferred record of each partition. */
  readDeferred(): void {
    const open = [...this.partitions].filter(
      ([id, { draining }]) => !draining && !this.#goingBack.has(id),
    );
    const deferring = open
      .map(([, partition]) => partition)
      .filter(({ offsets }) => offsets.released > 0);
    if (deferring.length > 0) void this.#goBack(deferring);
  }

  /** Drains the partitions that are no longer assigned. */
  #giveUp(): void {
    const isLeft = ([id]: [string, Partition]) => !this.parts.membership.assigned.has(id);
    const leaving = [...this.partitions].filter(isLeft).filter(([, { draining }]) => !draining);
    const lost = [...this.#orphans].filter(isLeft);
    for (const [, partition] of leaving) partition.drain();
    for (const [id, orphan] of lost) {
      orphan.fence();
      this.#orphans.delete(id);
    }
    if (leaving.length + lost.length > 0) this.parts.onRevoking?.();
  }

  /** Seeks to the position: kafkajs forgets it, and would read again from the last commit. */
  #keep(partition: Partition): void {
    // It may have been assigned again before it was released.
    if (!this.parts.stopping()) partition.reopen();
    this.#seek(partition, partition.offsets.next);
    if (partition.offsets.released > 0) void this.#goBack([partition]);
  }

  #seek(partition: Partition, offset: number): void {
    this.parts.orders.seek(this.#placeOf(partition), offset);
    // Buffered records are fetched again from there. Offered twice, they would be skipped as
    // already taken.
    partition.discardBuffered();
    if (!this.parts.stopping()) this.parts.orders.resume([this.#placeOf(partition)]);
  }

  /**
   * Reads on from the first deferred record of partitions, or from the start of the log behind it:
   * after a seek to a deleted record kafkajs would commit that it has no offset, and the next owner
   * would read the partition from its start. Until the seek no records are taken, so that they stay
   * in order: fetched ones are dropped, buffered ones discarded.
   */
  async #goBack(partitions: readonly Partition[]): Promise<void> {
    for (const partition of partitions) {
      this.#goingBack.set(idOf(this.#placeOf(partition)), partitions);
      partition.discardBuffered();
    }
    const places = partitions.map((partition) => this.#placeOf(partition));
    const bounds = await readKnownBounds(this.parts.admin, places);
    for (const partition of partitions) {
      const id = idOf(this.#placeOf(partition));
      if (this.#goingBack.get(id) !== partitions) continue;
      this.#goingBack.delete(id);
      // It may be revoked by now.
      if (this.partitions.get(id) !== partition || partition.draining) continue;
      const lost = partition.offsets.expire(bounds.get(id)?.low ?? 0);
      if (lost > 0) this.parts.onMissed(partition, 'retention', lost);
      if (!bounds.has(id)) partition.commitAgain();
      this.#seek(partition, partition.offsets.readFrom);
    }
    // Deferred records below an unknown start would stay open, and hold the commit back.
    if (bounds.size < partitions.length) setTimeout(() => this.readDeferred(), RETRY_MS).unref();
  }

  #orphanAll(): void {
    for (const [id, partition] of this.partitions) {
      partition.discardBuffered();
      this.#orphans.set(id, partition);
    }
    this.parts.rebalanceListener?.onLost();
    this.partitions.clear();
    this.#restoring.clear();
    this.#goingBack.clear();
  }

  /**
   * Starts a partition at its last commit, or takes it over from a lost session if no other owner
   * has committed since.
   * @returns whether another member owns the records left from the lost session
   */
  #adopt({ id, partition: committed, bounds }: Start): boolean {
    this.#restoring.delete(id);
    const orphan = this.#orphans.get(id);
    this.#orphans.delete(id);
    if (bounds && committed.committed > bounds.high) {
      orphan?.fence();
      this.#beginAt(id, committed, bounds.high);
      return orphan !== undefined;
    }
    if (orphan?.isLastOwner(committed)) {
      this.partitions.set(id, orphan);
      this.#keep(orphan);
      return false;
    }
    orphan?.fence();
    // The commit may lie below the log. An end before it is noticed at the first fetch (`isCut`).
    if (!bounds || committed.committed < bounds.low) committed.commitAgain();
    // Without a committed offset, the first record says where the partition starts.
    if (committed.committed >= 0) this.partitions.set(id, committed);
    return orphan !== undefined;
  }

  /**
   * Looks up the commits of the last owner; until then no records are taken. The partitions are
   * paused only if that fails: with nothing to fetch, kafkajs waits for a whole long poll, and a
   * look-up takes only some milliseconds.
   */
  async #restore(places: TopicPartition[]): Promise<void> {
    for (const place of places) this.#restoring.set(idOf(place), places);
    // A partition may be revoked, or be looked up once more after it was assigned again, or after a
    // lost session.
    const wanted = () => places.filter((place) => this.#restoring.get(idOf(place)) === places);
    const look = async () => {
      const starts = await readStarts({ ...this.parts, places });
      const found = starts.filter(({ id }) => this.#restoring.get(id) === places);
      const leaving = found.filter((start) => this.#adopt(start));
      if (leaving.length > 0) this.parts.onRevoking?.();
      if (!this.parts.stopping()) this.parts.orders.resume(found.map(({ place }) => place));
    };
    const isWanted = () => wanted().length > 0;
    await this.#repeat(isWanted, look, () => this.parts.orders.pause(wanted()));
  }

  /**
   * Repeats a look-up until it is not wanted any more, because it succeeded or the partitions were
   * revoked.
   */
  async #repeat(
    isWanted: () => boolean,
    look: () => Promise<void>,
    onFailure?: () => void,
  ): Promise<void> {
    while (isWanted()) {
      try {
        await look();
      } catch (error) {
        this.parts.log.warn({ reason: messageOf(error) }, 'offsets.not_read');
        onFailure?.();
        await sleep(RETRY_MS);
      }
    }
  }

  /**
   * Continues with the newer records after the log was truncated, or the topic created again. Until
   * they are found the partition is held as before, so that another member gets it only when its
   * open records are done or handed back.
   */
  async beginAgain(id: string, partition: Partition, cut: Cut): Promise<void> {
    this.#restoring.set(id, partition);
    const isWanted = () => this.#restoring.get(id) === partition;
    await this.#repeat(isWanted, async () => {
      const { offset, end } = await readNewer(
        this.parts.admin,
        this.#placeOf(partition),
        partition.newestAtMs,
      );
      if (!isWanted()) return;
      this.#restoring.delete(id);
      if (cut === 'ends_before' && end >= partition.offsets.next) this.#keep(partition);
      else {
        partition.fence();
        this.parts.onRevoking?.();
        this.#beginAt(id, partition, offset);
      }
    });
  }

  #beginAt(id: string, { topic, number, committed }: Partition, offset: number): void {
    const partition = Partition.atEnd(topic, number, offset);
    this.parts.onMissed(partition, 'truncated', Math.max(1, committed - offset));
    this.partitions.set(id, partition);
    this.parts.orders.seek(this.#placeOf(partition), offset);
  }

  #placeOf({ topic, number }: Partition): TopicPartition {
    return { topic: this.parts.prefix + topic, number };
  }
}
