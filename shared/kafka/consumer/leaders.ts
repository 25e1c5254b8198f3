import { sleep, withTimeout } from '../../runtime/async';
import { AppError, messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { ERROR } from '../protocol/error-codes';
import { type TopicMetadata } from '../protocol/metadata-request';
import { EARLIEST, LATEST, type LogPlace } from '../protocol/offset-requests';
import { type LogBrokers } from './brokers';
import { idOf, type TopicPartition } from './partition';
import { type RecordName } from '../record-name';

/** Knows the leaders of the partitions of some topics, and asks them about their logs. */

/** A broker that does not answer must not delay the look-up of others. */
const ANSWER_WITHIN_MS = 2_000;

export interface Leader {
  node: number;
  epoch: number;
  /** id of the topic */
  topicId: string;
}

/** First and end offset of a log. */
export interface Bounds {
  low: number;
  /** the offset of the next record */
  high: number;
}

type Requests = Pick<LogBrokers, 'metadata' | 'listOffsets' | 'epochEnd'>;

export class Leaders {
  #topics: ReadonlyMap<string, TopicMetadata> = new Map();

  /** @param topics full names */
  constructor(
    private readonly brokers: Requests,
    private readonly topics: readonly string[],
  ) {}

  /**
   * Reads the metadata again.
   * @param more full names of other topics, which the next refresh may forget
   * @returns what this refresh has read @throws if no broker answers
   */
  async refresh(more: readonly string[] = []): Promise<ReadonlyMap<string, TopicMetadata>> {
    const read = await this.brokers.metadata([...new Set([...this.topics, ...more])]);
    this.#topics = read;
    return read;
  }

  /** @throws AppError `cannot_start` if this user may not read a topic */
  requireRights(): void {
    const isForbidden = (topic: string) =>
      this.#topics.get(topic)?.errorCode === ERROR.topicForbidden;
    const forbidden = this.topics.find(isForbidden);
    if (forbidden === undefined) return;
    throw new AppError('cannot_start', `this user may not read the topic ${forbidden}`);
  }

  /** Returns the leader of a partition; undefined while it has none, or does not exist. */
  of({ topic, number }: TopicPartition): Leader | undefined {
    const found = this.#topics.get(topic);
    const partition = found?.partitions[number];
    if (!found || !partition || partition.leader < 0) return undefined;
    return { node: partition.leader, epoch: partition.epoch, topicId: found.id };
  }

  /** Number of partitions of a topic; 0 if it does not exist. */
  count(topic: string): number {
    return this.#topics.get(topic)?.partitions.length ?? 0;
  }

  /**
   * Returns the id of a topic; undefined while brokers do not name it: it was deleted, or one of
   * them lags behind.
   */
  topicIdOf(topic: string): string | undefined {
    const found = this.#topics.get(topic);
    return found?.errorCode === 0 ? found.id : undefined;
  }

  placesOf(topic: string): TopicPartition[] {
    return Array.from({ length: this.count(topic) }, (_, number) => ({ topic, number }));
  }

  /** True while a topic is missing, or a partition has no leader. */
  get isIncomplete(): boolean {
    return this.topics.some((topic) => {
      const partitions = this.#topics.get(topic)?.partitions ?? [];
      return partitions.length === 0 || partitions.some(({ leader }) => leader < 0);
    });
  }

  /**
   * Returns offsets by partition id; those whose leaders do not answer are absent.
   * @param at EARLIEST, LATEST, or the first record appended at a time, ms since 1970, or later; it
   *   is negative if there is none
   */
  async offsets(places: readonly TopicPartition[], at: number): Promise<Map<string, number>> {
    const byNode = new Map<number, LogPlace[]>();
    for (const place of places) {
      const leader = this.of(place);
      if (!leader) continue;
      const { topic, number } = place;
      const known = byNode.get(leader.node) ?? [];
      byNode.set(leader.node, [...known, { topic, number, leaderEpoch: leader.epoch }]);
    }
    const found = new Map<string, number>();
    const asked = [...byNode].map(async ([node, ofNode]) => {
      for (const each of await this.brokers.listOffsets(node, ofNode, at)) {
        if (each.errorCode === 0) found.set(idOf(each), each.offset);
      }
    });
    await withTimeout(ANSWER_WITHIN_MS, Promise.allSettled(asked));
    return found;
  }

  /**
   * Returns the bounds of the partitions of a topic whose leaders answer.
   * @param sinceMs `low` is the first record appended at that time, ms since 1970, or later
   */
  async allBounds(topic: string, sinceMs?: number): Promise<Map<number, Bounds>> {
    const places = this.placesOf(topic);
    const [lows, highs, since] = await Promise.all([
      this.offsets(places, EARLIEST),
      this.offsets(places, LATEST),
      sinceMs === undefined ? undefined : this.offsets(places, sinceMs),
    ]);
    const bounds = new Map<number, Bounds>();
    for (const place of places) {
      const id = idOf(place);
      const [low, high, found] = [lows.get(id), highs.get(id), (since ?? lows).get(id)];
      if (low === undefined || high === undefined || found === undefined) continue;
      // Kafka returns no offset for a time after the last record.
      bounds.set(place.number, { low: found < 0 ? high : Math.max(found, low), high });
    }
    return bounds;
  }

  /** @throws if the leader does not answer */
  async boundsOf(place: TopicPartition): Promise<Bounds> {
    const high = await this.#offset(place, LATEST);
    return { low: await this.#offset(place, EARLIEST), high };
  }

  /**
   * Finds where a log departs from what was read of it: at the first record that was appended later
   * than the newest one read, and not behind the end of its epoch.
   * @param last the newest record read; undefined: not known, and the log goes on at its end
   * @throws if the leader does not answer
   */
  async endOfKnown(place: TopicPartition, last: RecordName | undefined): Promise<number> {
    const { low, high } = await this.boundsOf(place);
    if (last === undefined) return high;
    const later = await this.#offset(place, last.timestamp + 1);
    const leader = this.#leaderOf(place);
    const at = { ...place, leaderEpoch: leader.epoch };
    const epoch = await this.brokers.epochEnd(leader.node, at, last.epoch);
    if (!epoch || epoch.errorCode !== 0) {
      throw new Error(`${idOf(place)} has no end of an epoch (error ${String(epoch?.errorCode)})`);
    }
    const ends = [last.offset, high, ...[later, epoch.offset].filter((end) => end >= 0)];
    return Math.max(low, Math.min(...ends));
  }

  async #offset(place: TopicPartition, atMs: number): Promise<number> {
    const leader = this.#leaderOf(place);
    const at = { ...place, leaderEpoch: leader.epoch };
    const [found] = await this.brokers.listOffsets(leader.node, [at], atMs);
    if (!found || found.errorCode !== 0) {
      throw new Error(`${idOf(place)} has no offsets (error ${String(found?.errorCode)})`);
    }
    return found.offset;
  }

  #leaderOf(place: TopicPartition): Leader {
    const leader = this.of(place);
    if (!leader) throw new Error(`${idOf(place)} has no leader`);
    return leader;
  }
}

const REFRESH_PAUSE_MS = 250;

/** Reads the metadata again on demand: once at a time, and with a pause behind it. */
export class LeaderSearch {
  #isRefreshing = false;
  #refreshesAgain = false;
  #beganAt = performance.now();
  #stopped = false;

  /** @param onRefreshed called after each refresh. @param isKnown false: no broker has answered */
  constructor(
    private readonly leaders: Pick<Leaders, 'refresh'>,
    private readonly onRefreshed: (isKnown: boolean) => void,
    private readonly log: Log,
  ) {}

  /** time since the last refresh began, ms */
  get ageMs(): number {
    return performance.now() - this.#beganAt;
  }

  refreshSoon(): void {
    this.#refreshesAgain = true;
    if (!this.#isRefreshing) void this.#run();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    this.#isRefreshing = true;
    while (this.#refreshesAgain && !this.#stopped) {
      this.#refreshesAgain = false;
      this.#beganAt = performance.now();
      let isKnown = true;
      try {
        await this.leaders.refresh();
      } catch (error) {
        isKnown = false;
        this.log.debug({ reason: messageOf(error) }, 'leaders.not_found');
      }
      if (!this.#isStopped()) this.onRefreshed(isKnown);
      await sleep(REFRESH_PAUSE_MS, { ref: false });
    }
    this.#isRefreshing = false;
  }

  /** A function, because the value may change during a wait. */
  #isStopped = () => this.#stopped;
}

const RETRY_MS = 200;

/**
 * Repeats a look-up until leaders answer.
 * @returns undefined once the result is not wanted any more
 */
export async function lookUp<T>(
  ask: () => Promise<T>,
  isWanted: () => boolean,
  onFailure: (error: unknown) => void,
): Promise<T | undefined> {
  for (;;) {
    try {
      const found = await ask();
      return isWanted() ? found : undefined;
    } catch (error) {
      onFailure(error);
    }
    await sleep(RETRY_MS);
    if (!isWanted()) return undefined;
  }
}
