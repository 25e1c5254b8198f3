import { sleep, withTimeout } from '../../runtime/async';
import { AppError } from '../../runtime/errors';
import { PollLiveness } from '../../runtime/health';
import { type Log } from '../../telemetry/log';
import { brokerClock } from '../broker-clock';
import { type FetchWait } from '../idle-wait';
import { type ConsumerMeter, type Metered, meterConsumer } from '../metrics';
import { type Consumption, type ConsumeOptions } from '../port';
import { type FetchedRecord } from '../protocol/batch';
import { ByteReader, partitionOf } from '../protocol/bytes';
import { ERROR, KafkaError } from '../protocol/error-codes';
import {
  type CommittedPartition,
  decodeAssignment,
  type JoinedMember,
  type MemberAssignment,
} from '../protocol/group-requests';
import { COMPACTED } from '../topics';
import { AssignedPartitions } from './assigned-partitions';
import { type ConsumerBrokers } from './brokers';
import { Committer, type DueCommit } from './committer';
import { Dispatcher } from './dispatcher';
import { Fetcher } from './fetcher';
import { Leaders, LeaderSearch } from './leaders';
import { Member, type Round } from './member';
import {
  memberOf,
  Membership,
  reportAssignments,
  SESSION_MS,
  topicPartitionsOf,
} from './membership';
import { idOf, type Partition, placeOf, type TopicPartition } from './partition';
import { type GroupReads, readUnassignedLag } from './unassigned-lag';

/**
 * Reads topics in a consumer group. Records complete in any order, and a planned rebalance repeats
 * only records for which the commit metadata has no room (commit-note.ts): those done long after a
 * deferred record.
 *
 * Each partition has an offset tracker. A timer commits the lowest open offset, and in the commit
 * metadata the records done above it. In a rebalance (cooperative-assignor.ts) partitions that stay
 * are read on. Partitions that move drain first, and are claimed until they are committed. A new
 * partition starts where the commit and the metadata of its last owner say. Reading and committing
 * go on while the group rebalances, and while its coordinator moves.
 *
 * All times are by `performance.now()`: a clock that is set does not end a session.
 */

/** A crash repeats the records done since the last commit, so that this is short. */
const COMMIT_EVERY_MS = 100;
const DRAIN_POLL_MS = 20;
/** The others of a group wait at most this long for a member that is to join a round. */
const BEAT_SHARED_MS = 300;
/** The round that gives released partitions to their new owners follows soon. */
const BEAT_AFTER_ROUND_MS = 100;
const AFTER_ROUND_MS = 3_000;
/** Three heartbeats within a session are enough: nobody waits for a lone member. */
const BEAT_ALONE_MS = 2_000;
/** New partitions are read after this time. */
const METADATA_MAX_AGE_MS = 30_000;
/** The same while a topic is missing, or a partition has no leader. */
const INCOMPLETE_AGE_MS = 1_000;
/**
 * Record values are slices of the whole response, so that its size limits the memory that one slow
 * record retains.
 */
const FETCH_BYTES = 1024 * 1024;
/** A process that stops does not wait for a broker that is down. */
const GOODBYE_MS = 1_000;

interface ConsumerParts
  extends Pick<GroupReads, 'describe' | 'recordAt'>, Pick<Metered, 'retention'> {
  brokers: ConsumerBrokers;
  /** the full name of the group */
  groupId: string;
  prefix: string;
  /** where this process runs; empty: reads from leaders */
  rack: string;
  wait: FetchWait;
  maxBytesPerPartition: number;
  log: Log;
}

export class KafkaConsumption implements Consumption {
  /** false before the first round, and while others may own the partitions: no record is started */
  joined = false;
  /** full names */
  readonly #topics: readonly string[];
  readonly #membership = new Membership();
  readonly #leaders: Leaders;
  readonly #search: LeaderSearch;
  readonly #member: Member;
  readonly #owned: AssignedPartitions;
  readonly #fetcher: Fetcher;
  readonly #dispatcher: Dispatcher;
  readonly #committer: Committer;
  readonly #meter: ConsumerMeter;
  readonly #liveness = new PollLiveness();
  readonly #report: ReturnType<typeof reportAssignments>;
  /** it starts no more records, and gives up its partitions */
  #stopping = false;
  /** it has left the group */
  #ended = false;
  #isAlone = true;
  #readsDeferred = false;
  /** partitions of each topic when this member last asked for a round, or assigned one */
  #counts = '';
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #enteredAt = -Infinity;
  #beatAt = -Infinity;
  /** when a request was sent to which the coordinator answered that this is a member */
  #memberAsOf = 0;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    const { brokers, prefix, groupId, log } = parts;
    this.#topics = options.topics.map((topic) => prefix + topic);
    this.#report = reportAssignments(log, groupId);
    this.#leaders = new Leaders(brokers, this.#topics);
    this.#search = new LeaderSearch(this.#leaders, () => this.#onRefreshed(), log);
    this.#member = new Member({
      requests: brokers.group,
      groupId,
      claims: () => this.#membership.claims(this.#topics),
      assign: (members) => this.#assign(members),
      onRound: (round) => this.#enter(round),
      onHeartbeat: (generation, sentAt) => this.#onHeartbeat(generation, sentAt),
      onLost: () => this.#fence('consumer.session_lost'),
      onForbidden: () => {
        const reason = `this user may not read with the consumer group ${groupId}`;
        options.onFatal(new AppError('cannot_start', reason));
      },
      log,
    });
    this.#owned = new AssignedPartitions({
      ...options,
      membership: this.#membership,
      leaders: this.#leaders,
      prefix,
      readCommitted: (places) => this.#readCommitted(places),
      session: { isInDoubt: () => this.#noteDoubt() },
      mayRead: () => this.joined && !this.#stopping,
      onReadable: () => this.#fetcher.wake(),
      refreshLeaders: () => this.#search.refreshSoon(),
      onExpired: (partition, offsets) => this.#expired(partition, offsets),
      onCut: (partition, cut) => this.#cut(partition, cut),
      // A topic that is made again is read from its first record.
      onMadeAgain: (partition, offsets) => this.#noteCut(partition, offsets, 0),
      onRestart: ({ topic, number: partition }, from) =>
        options.onRestart?.({ topic, partition, from, wasCut: false }),
      log,
    });
    this.#fetcher = new Fetcher({
      ...parts,
      partitions: this.#owned.partitions,
      leaders: this.#leaders,
      refreshLeaders: () => this.#search.refreshSoon(),
      onRecords: (id, partition, records) => this.#take(id, partition, records),
      onCut: (id, partition) => this.#owned.goOnAfterCut(id, partition),
      onOutOfRange: (id, partition) => this.#owned.goOnInRange(id, partition),
      onTurn: () => this.#liveness.recordPoll(),
      maxBytes: FETCH_BYTES,
    });
    this.#dispatcher = new Dispatcher({
      onRecord: (record) => options.onRecord(record),
      onResumed: () => this.#fetcher.wake(),
      mayStart: () => this.#mayStart(),
      onFull: ({ topic, number: partition, offsets }) =>
        log.warn(
          { group: options.group, topic, partition, deferred: offsets.released },
          'consumer.partition_full',
        ),
    });
    this.#committer = new Committer({
      partitions: () => (this.#owned.isOf(this.#member.memberId) ? this.#held() : []),
      send: (commits) => this.#commit(commits),
      after: () => this.#owned.letGo(),
      log,
    });
    this.#meter = meterConsumer({
      ...options,
      retention: parts.retention,
      prefix,
      of: this,
      liveness: this.#liveness,
      partitions: this.#owned.partitions,
      bounds: (topic) => this.#leaders.allBounds(prefix + topic),
      unassigned: (bounds) =>
        readUnassignedLag(
          {
            ...parts,
            readCommitted: (places) => this.#readCommitted(places),
            memberId: () => this.#member.memberId,
            count: (topic) => this.#leaders.count(topic),
          },
          bounds,
        ),
    });
  }

  /**
   * Begins to join the group; the first assignment comes later.
   * @throws if no broker answers, or a topic may not be read, after this consumer was ended
   */
  async start(): Promise<void> {
    try {
      await this.#leaders.refresh();
      this.#leaders.requireRights();
    } catch (error) {
      await this.#end().catch(() => undefined);
      throw error;
    }
    this.#counts = this.#countsNow();
    this.#member.join();
    this.#arm(COMMIT_EVERY_MS);
  }

  get open(): number {
    let sum = 0;
    for (const { offsets } of this.#held()) sum += offsets.open;
    return sum;
  }

  get deferred(): number {
    let sum = 0;
    for (const { offsets } of this.#held()) sum += offsets.released;
    return sum;
  }

  readDeferred(): void {
    this.#readsDeferred = true;
    this.#tickSoon();
  }

  owns(topic: string, key: string): boolean {
    const count = Math.max(1, this.#leaders.count(this.parts.prefix + topic));
    return this.#membership.copartitions.has(partitionOf(key, count));
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
    this.#membership.leaving = true;
    // The partitions without a record in flight do not wait for the others.
    this.#membership.askForRound();
    this.#tickSoon();
    this.#owned.stopAll();
    const isDrained = () => [...this.#held()].every(({ drained }) => drained);
    while (!isDrained() && performance.now() < until) {
      await sleep(DRAIN_POLL_MS);
      if (this.open === 0) await this.#committer.run(Infinity);
    }
    await this.#committer.run(Infinity);
    if (!isDrained()) this.parts.log.warn({ open: this.open }, 'consumer.stopped_undrained');
    this.joined = false;
    this.#owned.stopAll();
    await this.#end();
  }

  async #end(): Promise<void> {
    this.#stopping = true;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#meter.end();
    this.#fetcher.stop();
    this.#search.stop();
    this.#owned.end();
    await withTimeout(GOODBYE_MS, this.#member.leave());
    await withTimeout(GOODBYE_MS, this.parts.brokers.disconnect());
  }

  #held(): Iterable<Partition> {
    return this.#owned.partitions.values();
  }

  /** Applies the assignment of a round. */
  #enter({ memberId, generation, isAlone, assignment }: Round): void {
    const given = Object.entries(decodeAssignment(new ByteReader(assignment)));
    const mine = Object.fromEntries(given.filter(([topic]) => this.#topics.includes(topic)));
    this.joined = true;
    this.#isAlone = isAlone;
    this.#enteredAt = performance.now();
    this.#owned.enter(memberId, topicPartitionsOf(mine));
    this.#membership.onHeartbeat(generation);
    this.#report(mine);
    this.#tickSoon();
  }

  /** Assigns the partitions of a round: all that any member reads. */
  async #assign(members: readonly JoinedMember[]): Promise<MemberAssignment[]> {
    const joining = members.map(memberOf);
    const topics = [...new Set(joining.flatMap((member) => member.topics))];
    const before = this.#countsNow();
    const read = await this.#leaders.refresh(topics);
    this.#counts = this.#countsNow();
    // This broker may not know yet what another one has said, or know more.
    if (this.#counts !== before) this.#search.refreshSoon();
    const counts = new Map(topics.map((topic) => [topic, read.get(topic)?.partitions.length ?? 0]));
    return this.#membership.assign(counts, joining);
  }

  #onHeartbeat(generation: number, sentAt: number): void {
    this.#memberAsOf = Math.max(this.#memberAsOf, sentAt);
    this.#liveness.recordPoll();
    if (this.#member.isJoining) return;
    this.#membership.onHeartbeat(generation);
    if (this.joined || this.#isCoordinatorSilent) return;
    this.joined = true;
    this.#owned.goOnAll();
  }

  /**
   * Hands back unstarted records: others may own the partitions. They are read on once the
   * coordinator has answered that this is a member.
   */
  #fence(event: string): void {
    if (!this.joined) return;
    this.joined = false;
    this.parts.log.warn({ group: this.parts.groupId }, event);
    this.#owned.stopAll();
  }

  /** The coordinator has not answered for so long that it may have ended the session. */
  get #isCoordinatorSilent(): boolean {
    return performance.now() - this.#memberAsOf > SESSION_MS;
  }

  /**
   * Returns whether others may own the partitions, and fences then. A record may ask first after
   * the process stood still, in the middle of its handler's work, before the timer.
   */
  #noteDoubt(): boolean {
    if (!this.joined) return true;
    if (!this.#isCoordinatorSilent) return false;
    queueMicrotask(() => this.#fence('consumer.session_in_doubt'));
    return true;
  }

  /**
   * Returns whether a record may be started. It may be the first to run after the process stood
   * still, before the timer.
   */
  #mayStart(): boolean {
    if (this.#isCoordinatorSilent) this.#fence('consumer.session_in_doubt');
    return this.joined && !this.#stopping;
  }

  #take(id: string, partition: Partition, records: readonly FetchedRecord[]): void {
    if (!this.#mayStart() || !this.#membership.assigned.has(id)) return;
    brokerClock.read(records.at(-1)?.timestamp ?? 0);
    const gap = COMPACTED.has(partition.topic) ? 0 : partition.gapBefore(records);
    if (gap > 0) this.#expired(partition, gap);
    this.#meter.read(partition, records);
    try {
      this.#dispatcher.dispatch(partition, records);
    } catch (error) {
      this.options.onFatal(error);
    }
    this.#tickSoon();
  }

  #expired({ topic, number: partition }: Partition, offsets: number): void {
    const about = { group: this.options.group, topic, partition, offsets };
    this.parts.log.error(about, 'consumer.records_expired');
    this.#meter.missed(topic, offsets);
  }

  #noteCut({ topic, number: partition }: Partition, offsets: number, from: number): void {
    const about = { group: this.options.group, topic, partition, offsets, from };
    this.parts.log.error(about, 'consumer.log_cut');
    this.#meter.cut(topic, offsets);
  }

  #cut(cut: Partition, { offsets, from }: { offsets: number; from: number }): void {
    this.#noteCut(cut, offsets, cut.position.next);
    const { topic, number: partition } = cut;
    this.options.onRestart?.({ topic, partition, from, wasCut: true });
  }

  async #readCommitted(places: readonly TopicPartition[]): Promise<CommittedPartition[]> {
    // Without a topic, Kafka would answer for the whole group.
    if (places.length === 0) return [];
    const { errorCode, partitions } = await this.parts.brokers.group.committed(places);
    const refused = errorCode || partitions.find((each) => each.errorCode !== 0)?.errorCode;
    if (refused) throw new KafkaError('the committed offsets', refused);
    return partitions;
  }

  /**
   * @returns the commits that Kafka has stored, and those of partitions that leave although it has
   *   deleted their topic
   */
  async #commit(due: readonly DueCommit[]): Promise<readonly DueCommit[]> {
    const { prefix } = this.parts;
    const commits = due.map(({ partition: { topic, number }, commit: { offset, metadata } }) => {
      return { topic: prefix + topic, partition: number, offset, metadata };
    });
    const answers = await this.#member.commit(commits);
    const refused = new Map(
      answers
        .filter(({ errorCode }) => errorCode !== 0)
        .map(({ topic, partition: number, errorCode }) => [idOf({ topic, number }), errorCode]),
    );
    // A coordinator that has just started may not know a topic yet, so that metadata decides.
    if ([...refused.values()].includes(ERROR.unknownTopic)) this.#search.refreshSoon();
    const errorOf = (partition: Partition) => refused.get(idOf(placeOf(partition, prefix)));
    if ([...refused.values()].includes(ERROR.metadataTooLarge)) this.#committer.shortenNotes();
    const settled = due.filter(({ partition }) => {
      const errorCode = errorOf(partition);
      if (errorCode !== ERROR.unknownTopic || partition.isReading) return errorCode === undefined;
      return this.#leaders.count(prefix + partition.topic) <= partition.number;
    });
    const [code] = refused.values();
    if (code !== undefined && settled.length === 0) throw new KafkaError('a commit', code);
    return settled;
  }

  /** Lets the timer run soon, because there is something to commit. */
  #tickSoon(): void {
    if (this.#timerAt - performance.now() > COMMIT_EVERY_MS) this.#arm(COMMIT_EVERY_MS);
  }

  #arm(ms: number): void {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timerAt = performance.now() + ms;
    this.#timer = setTimeout(this.#tick, ms);
  }

  readonly #tick = (): void => {
    const now = performance.now();
    if (this.#isCoordinatorSilent) this.#fence('consumer.session_in_doubt');
    if (this.#readsDeferred && this.joined) {
      this.#readsDeferred = false;
      this.#owned.readDeferred();
    }
    if (this.#membership.wantsRoundIn === 0 && !this.#member.isJoining) this.#member.join();
    if (now - this.#beatAt >= this.#beatMs) {
      this.#beatAt = now;
      this.#member.beat();
      const age = this.#leaders.isIncomplete ? INCOMPLETE_AGE_MS : METADATA_MAX_AGE_MS;
      if (this.#search.ageMs > age) this.#search.refreshSoon();
    }
    void this.#committer.run(now);
    const beatIn = Math.max(1, this.#beatAt + this.#beatMs - now);
    const commitIn = this.#isBusy() ? COMMIT_EVERY_MS : Infinity;
    const roundIn = this.#member.isJoining ? Infinity : Math.max(1, this.#membership.wantsRoundIn);
    this.#arm(Math.min(beatIn, commitIn, roundIn));
  };

  get #beatMs(): number {
    if (performance.now() - this.#enteredAt < AFTER_ROUND_MS) return BEAT_AFTER_ROUND_MS;
    if (!this.#isAlone) return BEAT_SHARED_MS;
    return this.#leaders.isIncomplete ? INCOMPLETE_AGE_MS : BEAT_ALONE_MS;
  }

  #isBusy(): boolean {
    if (this.#membership.draining.size > 0 || this.#readsDeferred) return true;
    for (const partition of this.#held()) {
      if (partition.offsets.open > 0 || partition.uncommitted > 0) return true;
    }
    return false;
  }

  #onRefreshed(): void {
    this.#noteCounts();
    this.#owned.noteTopics();
    this.#liveness.recordPoll();
    this.#fetcher.wake();
  }

  /** Asks for a round if a topic has appeared, disappeared or grown. */
  #noteCounts(): void {
    const counts = this.#countsNow();
    if (counts === this.#counts) return;
    this.#counts = counts;
    this.#membership.askForRound();
    this.#tickSoon();
  }

  #countsNow(): string {
    return this.#topics.map((topic) => this.#leaders.count(topic)).join();
  }
}
