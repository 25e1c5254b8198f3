import { sleep } from '../../runtime/async';
import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type CommittedPartition } from '../protocol/group-requests';
import { type ConsumeOptions } from '../port';
import { EARLIEST } from '../protocol/offset-requests';
import { type Leaders, lookUp } from './leaders';
import { type Membership } from './membership';
import { idOf, Partition, placeOf, type Session, type TopicPartition } from './partition';

/**
 * Tracks the partitions of one member from round to round: it keeps partitions that stay, drains
 * revoked ones, looks up where new ones start, reclaims its own after a lost session, and goes on
 * after a log was cut.
 */

const RETRY_MS = 200;

interface AssignmentParts extends Pick<ConsumeOptions, 'rebalanceListener' | 'onRevoking'> {
  membership: Membership;
  leaders: Pick<Leaders, 'offsets' | 'boundsOf' | 'endOfKnown' | 'topicIdOf'>;
  prefix: string;
  /** @throws if the coordinator does not answer */
  readCommitted: (places: readonly TopicPartition[]) => Promise<CommittedPartition[]>;
  session: Session;
  /** returns whether records may be started: no others may own the partitions */
  mayRead: () => boolean;
  /** called when there may be more to fetch */
  onReadable: () => void;
  /** called when the leader of a partition has not answered, or is another one */
  refreshLeaders: () => void;
  /** called with the number of offsets of deferred records that retention has deleted */
  onExpired: (partition: Partition, offsets: number) => void;
  /**
   * called when a log was cut
   * @param cut.offsets number of records that were read and cut off
   * @param cut.from the first of them
   */
  onCut: (partition: Partition, cut: { offsets: number; from: number }) => void;
  /**
   * called with the number of offsets before the position of a partition that was given up, when
   * its topic was made again
   */
  onMadeAgain: (partition: Partition, offsets: number) => void;
  /** called when a partition begins anew at its commit that this member has begun before */
  onRestart: (partition: Partition, from: number) => void;
  log: Log;
}

export class AssignedPartitions {
  /** by id */
  readonly partitions = new Map<string, Partition>();
  /** partitions whose start is being looked up, each with its look-up */
  readonly #starting = new Map<string, object>();
  /** partitions of a lost session: taken back if no other owner has committed since */
  readonly #orphans = new Map<string, Partition>();
  /** partitions that were given up, until brokers name their topics */
  readonly #unnamed = new Set<Partition>();
  /** ids of all partitions that were begun */
  readonly #begun = new Set<string>();
  #memberId = '';
  #hasEnded = false;

  constructor(private readonly parts: AssignmentParts) {}

  /** Applies the assignment of a round. */
  enter(memberId: string, given: ReadonlyMap<string, TopicPartition>): void {
    const { membership, rebalanceListener } = this.parts;
    const places = membership.accept(given);
    // Another member id: the session was lost, and others may have had its partitions.
    const sameSession = memberId === this.#memberId;
    if (!sameSession) this.#orphanAll();
    this.#memberId = memberId;
    membership.enter(places, sameSession);
    const fresh = new Map(places);
    for (const id of this.#starting.keys()) if (!fresh.delete(id)) this.#starting.delete(id);
    for (const [id, partition] of this.partitions) if (fresh.delete(id)) this.#keep(partition);
    this.#giveUp();
    rebalanceListener?.onAssigned(membership.copartitions);
    if (fresh.size > 0) void this.#begin([...fresh.values()]);
  }

  /**
   * Returns whether the partitions are of this member: after a lost session, another one may own
   * them, and the new member has not got its assignment yet.
   */
  isOf(memberId: string): boolean {
    return memberId !== '' && memberId === this.#memberId;
  }

  /** Starts no more records of any partition. */
  stopAll(): void {
    for (const partition of this.partitions.values()) partition.change('stop');
    if (this.partitions.size > 0) this.parts.onRevoking?.();
  }

  /** Reads on in the assigned partitions: the session was in doubt, and is not lost. */
  goOnAll(): void {
    const { assigned } = this.parts.membership;
    for (const [id, partition] of this.partitions) if (assigned.has(id)) this.#keep(partition);
  }

  /** Ends all look-ups, because no broker will be asked any more. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Releases drained and committed partitions, and asks for another round after the last one. */
  letGo(): void {
    const { membership } = this.parts;
    if (membership.draining.size === 0) return;
    for (const [id, { number }] of membership.draining) {
      const partition = this.partitions.get(id);
      const isHeld = partition?.drained === false;
      if (isHeld || this.parts.rebalanceListener?.isDraining(number)) continue;
      membership.draining.delete(id);
      if (partition) this.#giveAway(partition);
      this.partitions.delete(id);
    }
    if (membership.draining.size === 0 && !membership.leaving) membership.released();
  }

  /** Reads on from the first deferred record of each partition. */
  readDeferred(): void {
    for (const partition of this.partitions.values()) {
      if (partition.isReading && partition.offsets.released > 0) partition.goBack();
    }
    this.parts.onReadable();
  }

  /** Goes on after the log was cut, or its topic made again. */
  async goOnAfterCut(id: string, partition: Partition): Promise<void> {
    const { position } = partition;
    const end = await this.#lookUp(id, partition, (place) =>
      this.parts.leaders.endOfKnown(place, position.last),
    );
    if (end === undefined) return;
    partition.cutAt(end);
    this.parts.onRevoking?.();
    this.parts.onCut(partition, { offsets: position.cutOff(end), from: end });
  }

  /** A fetch found no record in its place: retention has deleted it, or the log was cut. */
  async goOnInRange(id: string, partition: Partition): Promise<void> {
    const { leastEnd } = partition.position;
    const bounds = await this.#lookUp(id, partition, (place) => this.parts.leaders.boundsOf(place));
    if (bounds === undefined) return;
    if (leastEnd > bounds.high) return this.goOnAfterCut(id, partition);
    const lost = partition.offsets.expire(bounds.low);
    if (lost > 0) this.parts.onExpired(partition, lost);
    partition.position.goBack(Math.max(partition.position.next, partition.offsets.readFrom));
    partition.position.skipTo(bounds.low);
  }

  #giveAway(partition: Partition): void {
    this.#unnamed.add(partition);
    this.noteTopics();
  }

  /**
   * Reports partitions that were given up because their topic was deleted, once it is made again:
   * nobody compares their positions.
   */
  noteTopics(): void {
    const { leaders, prefix, onMadeAgain } = this.parts;
    for (const partition of this.#unnamed) {
      const { topicId, next } = partition.position;
      const found = leaders.topicIdOf(placeOf(partition, prefix).topic);
      if (found === undefined) continue;
      this.#unnamed.delete(partition);
      if (topicId !== '' && topicId !== found && next > 0) onMadeAgain(partition, next);
    }
  }

  /** Drains the partitions that are no longer assigned. */
  #giveUp(): void {
    const isLeft = ([id]: [string, Partition]) => !this.parts.membership.assigned.has(id);
    const leaving = [...this.partitions].filter(isLeft).filter(([, { isReading }]) => isReading);
    const lost = [...this.#orphans].filter(isLeft);
    for (const [, partition] of leaving) partition.change('stop');
    for (const [id, orphan] of lost) {
      this.#orphans.delete(id);
      this.#giveAway(orphan);
    }
    if (leaving.length + lost.length > 0) this.parts.onRevoking?.();
  }

  /** Reads on, if it was stopped and its unstarted records were handed back. */
  #keep(partition: Partition): void {
    if (this.parts.mayRead()) partition.change('goOn');
    this.parts.onReadable();
  }

  #orphanAll(): void {
    for (const [id, partition] of this.partitions) {
      partition.change('lose');
      this.#orphans.set(id, partition);
    }
    this.parts.rebalanceListener?.onLost();
    this.partitions.clear();
    this.#starting.clear();
  }

  /** Starts partitions at the commits of their last owners. */
  async #begin(places: readonly TopicPartition[]): Promise<void> {
    for (const place of places) this.#starting.set(idOf(place), places);
    // One may be revoked, or be looked up once more after it was assigned again.
    const isWanted = (place: TopicPartition) =>
      !this.#hasEnded && this.#starting.get(idOf(place)) === places;
    const wanted = () => places.filter(isWanted);
    for (let left = wanted(); left.length > 0; left = wanted()) {
      try {
        const found = await this.parts.readCommitted(left);
        const isNew = ({ offset }: CommittedPartition) => offset < 0;
        const starts = await this.parts.leaders.offsets(
          found.filter(isNew).map(numbered),
          EARLIEST,
        );
        const begun = found.filter((committed) => isWanted(numbered(committed)));
        const leaving = begun.map((committed) => this.#adopt(committed, starts));
        if (leaving.includes(true)) this.parts.onRevoking?.();
        this.parts.onReadable();
      } catch (error) {
        this.parts.log.warn({ reason: messageOf(error) }, 'offsets.not_read');
      }
      if (wanted().length === 0) return;
      this.parts.refreshLeaders();
      await sleep(RETRY_MS);
    }
  }

  /**
   * Starts a partition, or takes it over from a lost session if no other owner has committed since.
   * @param starts the first offsets of logs whose partitions have no commit
   * @returns whether another member owns the records left from the lost session
   */
  #adopt(committed: CommittedPartition, starts: ReadonlyMap<string, number>): boolean {
    const id = idOf(numbered(committed));
    const { partition: number, offset, metadata } = committed;
    const topic = committed.topic.slice(this.parts.prefix.length);
    const start = offset < 0 ? starts.get(id) : offset;
    if (start === undefined) return false;
    this.#starting.delete(id);
    const orphan = this.#orphans.get(id);
    this.#orphans.delete(id);
    const found =
      offset < 0
        ? Partition.uncommitted(topic, number, start, this.parts.session)
        : new Partition(topic, number, offset, metadata, this.parts.session);
    if (orphan?.isLastOwner(found)) {
      orphan.change('takeBack');
      this.partitions.set(id, orphan);
      orphan.position.doubt();
      this.#keep(orphan);
      return false;
    }
    if (orphan) this.#giveAway(orphan);
    if (this.#begun.has(id)) this.parts.onRestart(found, start);
    this.#begun.add(id);
    this.partitions.set(id, found);
    if (!this.parts.mayRead()) found.change('stop');
    return orphan !== undefined;
  }

  /** @returns undefined if the partition was given up meanwhile */
  #lookUp<T>(
    id: string,
    partition: Partition,
    ask: (place: TopicPartition) => Promise<T>,
  ): Promise<T | undefined> {
    const { prefix, log, refreshLeaders } = this.parts;
    const place = placeOf(partition, prefix);
    return lookUp(
      () => ask(place),
      () => !this.#hasEnded && this.partitions.get(id) === partition,
      (error) => {
        log.warn({ id, reason: messageOf(error) }, 'offsets.not_read');
        refreshLeaders();
      },
    );
  }
}

function numbered({ topic, partition }: CommittedPartition): TopicPartition {
  return { topic, number: partition };
}
