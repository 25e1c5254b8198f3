import { defined } from '../collections/defined';
import { type NoticeEvent, type StoredEvent } from '../model/attempt-events';
import { DELETIONS_KEPT_MS, type DeletionRecord, encodeDeletion } from '../model/deletion';
import { type RecallRecord, takenNote } from '../model/recall';
import { FORMAT_HEADER } from '../model/record-format';
import { formatDuration, parseDuration } from '../model/time';
import { parkTiers } from '../model/schedule';
import { type TopicRetention } from '../runtime/retention';
import { type Settings } from '../runtime/settings';

/**
 * A row in the only table of topics, from which all other code derives topics. A key keeps together
 * the records of a source's user, of a destination's shard, or of one delivery.
 */
export interface TopicSpec {
  name: string;
  /**
   * `all`: WAYPOST_PARTITIONS; `one`: a single partition, so that all readers see the same order
   */
  partitions: 'all' | 'one';
  cleanup: 'delete' | 'compact';
  /** ms; absent if compaction keeps the last record of each key */
  retentionMs?: number;
  /** an operator has set the retention, so that existing topics get it too */
  retentionIsSet?: boolean;
  /**
   * Kafka does not compact the active segment, so that readers of the whole topic read up to this
   * size in vain.
   */
  segmentBytes?: number;
  /** compaction leaves each record at least this time, ms */
  compactionLagMs?: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Time for which compaction keeps a tombstone, ms. A reader that was away for less sees it. The
 * audiences service trusts a store that is up to half a day old, and a missed tombstone would leave
 * the profile of a deleted user.
 */
export const TOMBSTONES_MS = DAY_MS;

/**
 * Time in which the owner of a profile, or the next one, writes it again after a former owner wrote
 * behind it, ms. If compaction kept what the former one wrote before that, the profile would be
 * lost.
 */
const VOID_FOUND_MS = 10 * 60_000;

export const MESSAGES = 'messages';
export const REJECTED = 'messages.rejected';
/** Counts of requests answered with 429, and of rejected calls without a record of their own. */
export const LIMITED = 'messages.limited';
export const WEBHOOKS = 'webhooks';
export const DUE = 'webhooks.due';
/**
 * Requests to take deliveries out of their tiers early, and notes of what was taken
 * (`shared/model/recall.ts`).
 */
export const RECALLS = 'webhooks.recalls';
export const DEAD = 'webhooks.dead';
export const ATTEMPTS = 'attempts';
export const CONFIG = 'config';
/** Users and visitors who were deleted (`shared/model/deletion.ts`). */
export const DELETIONS = 'deletions';
/**
 * The part of `messages` that profiles need, keyed by user and co-partitioned with the profiles.
 */
export const PROFILE_EVENTS = 'profiles.events';
/** The profiles: the changelog from which a state store is restored. */
export const PROFILES = 'profiles';
/** Progress of each definition in each partition of profiles. */
export const PROFILE_STATUS = 'profiles.status';
/**
 * Queries of control to the audiences service, and their results: read by running processes, useful
 * for a moment.
 */
export const PROFILE_QUERIES = 'profiles.queries';
export const PROFILE_RESULTS = 'profiles.results';
/**
 * Topics in which compaction leaves gaps between offsets. In all others a gap means that retention
 * deleted records.
 */
export const COMPACTED: ReadonlySet<string> = new Set([CONFIG, PROFILES, PROFILE_STATUS]);
/** Prefix of the tier topics; the delay follows. */
export const TIER_PREFIX = 'webhooks.retry.';

/** Returns the topic of a tier: 10000 → `webhooks.retry.10s`. */
export function tierTopic(delayMs: number): string {
  return TIER_PREFIX + formatDuration(delayMs);
}

/** Returns the delay of a tier by its topic (without prefix), ms; undefined for other topics. */
export function tierDelayMs(topic: string): number | undefined {
  return topic.startsWith(TIER_PREFIX) ? parseDuration(topic.slice(TIER_PREFIX.length)) : undefined;
}

/**
 * Returns the retention of `webhooks.recalls`, ms: its notes must outlast every record of a tier
 * that they concern.
 */
export function recallsKeptMs(windowMs: number): number {
  return windowMs + 2 * DAY_MS;
}

/**
 * Returns all topics of a system. Tier topics keep the window or, if it is longer, their delay, and
 * a day, so that an outage of a day loses no delivery. The longer window of a destination changes
 * nothing here: its deliveries are in a tier for one delay at a time.
 */
export function topicSpecs(options: {
  retryDelaysMs: number[];
  windowMs: number;
  /** WAYPOST_TOPIC_RETENTION */
  retention?: TopicRetention;
}): TopicSpec[] {
  const keep = (name: string, days: number): TopicSpec => ({
    name,
    partitions: 'all',
    cleanup: 'delete',
    retentionMs: days * DAY_MS,
  });
  const sized = (name: string, setMs: number | undefined): TopicSpec => ({
    ...keep(name, 7),
    ...defined({
      retentionMs: setMs,
      retentionIsSet: setMs !== undefined ? true : undefined,
    }),
  });
  const { messages, webhooks, attempts } = options.retention ?? {};
  return [
    sized(MESSAGES, messages),
    keep(REJECTED, 1),
    { ...keep(LIMITED, 1), partitions: 'one' },
    sized(WEBHOOKS, webhooks),
    sized(DUE, webhooks),
    ...parkTiers(options.retryDelaysMs).map((delay): TopicSpec => ({
      ...keep(tierTopic(delay), 0),
      retentionMs: Math.max(options.windowMs, delay) + DAY_MS,
    })),
    { ...keep(RECALLS, 0), partitions: 'one', retentionMs: recallsKeptMs(options.windowMs) },
    keep(DEAD, 30),
    sized(ATTEMPTS, attempts),
    { name: CONFIG, partitions: 'one', cleanup: 'compact' },
    { name: DELETIONS, partitions: 'one', cleanup: 'delete', retentionMs: DELETIONS_KEPT_MS },
    sized(PROFILE_EVENTS, messages),
    {
      name: PROFILES,
      partitions: 'all',
      cleanup: 'compact',
      segmentBytes: 64 * 1024 * 1024,
      compactionLagMs: VOID_FOUND_MS,
    },
    { name: PROFILE_STATUS, partitions: 'one', cleanup: 'compact' },
    { name: PROFILE_QUERIES, partitions: 'one', cleanup: 'delete', retentionMs: HOUR_MS },
    { name: PROFILE_RESULTS, partitions: 'one', cleanup: 'delete', retentionMs: HOUR_MS },
  ];
}

/** Returns all topics of the system with these settings. */
export function specsOf(settings: Settings): TopicSpec[] {
  const { WAYPOST_RETRY_DELAYS: retryDelaysMs, WAYPOST_RETRY_WINDOW: windowMs } = settings;
  return topicSpecs({ retryDelaysMs, windowMs, retention: settings.WAYPOST_TOPIC_RETENTION });
}

/** Returns a record of `webhooks.recalls`. Its key is the id of the recall. */
export function recallRecord(record: RecallRecord) {
  return {
    topic: RECALLS,
    key: record.kind === 'recall' ? record.id : record.recall,
    value: JSON.stringify(record),
    headers: { format: FORMAT_HEADER },
  };
}

/**
 * Returns a record that says nothing. A process that starts writes it: its timestamp shows whether
 * the clock of this machine is wrong.
 */
export function clockNote() {
  return recallRecord(takenNote('none', []));
}

/** Returns a record of `deletions`. */
export function deletionRecord(deletion: DeletionRecord) {
  return { topic: DELETIONS, ...encodeDeletion(deletion) };
}

/** Returns a record of `attempts` with one event. */
export function attemptsRecord(key: string, event: StoredEvent | NoticeEvent) {
  return { topic: ATTEMPTS, key, value: JSON.stringify(event), headers: { format: FORMAT_HEADER } };
}
