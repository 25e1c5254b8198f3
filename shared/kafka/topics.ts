import { formatDuration, parseDuration } from '../model/duration';
import { parkTiers } from '../model/schedule';

/**
 * The one table of topics: everything else that knows a topic derives it from here. Keys say what is kept together:
 * a source's user, a destination's shard, one delivery.
 */
export interface TopicSpec {
  name: string;
  /** `all`: WAYPOST_PARTITIONS; `one`: a single partition, so that readers see one order */
  partitions: 'all' | 'one';
  cleanup: 'delete' | 'compact';
  /** ms; absent where compaction keeps the last record of each key */
  retentionMs?: number;
  /** The segment that is written to is not compacted: who reads all of the topic reads as much as this for nothing. */
  segmentBytes?: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * How long compaction keeps a tombstone, ms. Who was away for less sees it: the audiences service trusts a store that is up to
 * half a day old, and a delete that it misses would leave the profile of a deleted user.
 */
export const TOMBSTONES_MS = DAY_MS;

export const MESSAGES = 'messages';
export const REJECTED = 'messages.rejected';
/** Counts of requests that ingest answered with 429. */
export const LIMITED = 'messages.limited';
export const WEBHOOKS = 'webhooks';
export const DUE = 'webhooks.due';
export const DEAD = 'webhooks.dead';
export const ATTEMPTS = 'attempts';
export const CONFIG = 'config';
/** Of messages what profiles need, by user: their partitions are those of the profiles. */
export const PROFILE_EVENTS = 'profiles.events';
/** The profiles themselves: what a store is restored from. */
export const PROFILES = 'profiles';
/** How far each definition is in each partition of profiles. */
export const PROFILE_STATUS = 'profiles.status';
/** What control asks of those who keep profiles, and what they answer: read by whoever is there, of use for a moment. */
export const PROFILE_QUESTIONS = 'profiles.questions';
export const PROFILE_ANSWERS = 'profiles.answers';
/** Topics that leave out offsets by nature. In all others a gap is what retention took away. */
export const COMPACTED: ReadonlySet<string> = new Set([CONFIG, PROFILES, PROFILE_STATUS]);
/** Of the topics of tiers, each of which ends in its delay. */
export const TIER_PREFIX = 'webhooks.retry.';

/** The name of a tier's topic: 10000 → `webhooks.retry.10s`. */
export function tierTopic(delayMs: number): string {
  return TIER_PREFIX + formatDuration(delayMs);
}

/** The delay of a tier by its topic (without prefix), or undefined where it is no tier. */
export function tierDelayMs(topic: string): number | undefined {
  return topic.startsWith(TIER_PREFIX) ? parseDuration(topic.slice(TIER_PREFIX.length)) : undefined;
}

/** All topics of a system. Tier topics keep the window and a day, so that an outage of a day loses nothing. */
export function topicSpecs(options: { retryDelaysMs: number[]; windowMs: number }): TopicSpec[] {
  const keep = (name: string, days: number): TopicSpec => ({
    name,
    partitions: 'all',
    cleanup: 'delete',
    retentionMs: days * DAY_MS,
  });
  return [
    keep(MESSAGES, 7),
    keep(REJECTED, 1),
    { ...keep(LIMITED, 1), partitions: 'one' },
    keep(WEBHOOKS, 7),
    keep(DUE, 7),
    ...parkTiers(options.retryDelaysMs).map((delay): TopicSpec => ({
      ...keep(tierTopic(delay), 0),
      retentionMs: options.windowMs + DAY_MS,
    })),
    keep(DEAD, 30),
    keep(ATTEMPTS, 7),
    { name: CONFIG, partitions: 'one', cleanup: 'compact' },
    keep(PROFILE_EVENTS, 7),
    { name: PROFILES, partitions: 'all', cleanup: 'compact', segmentBytes: 64 * 1024 * 1024 },
    { name: PROFILE_STATUS, partitions: 'one', cleanup: 'compact' },
    { name: PROFILE_QUESTIONS, partitions: 'one', cleanup: 'delete', retentionMs: HOUR_MS },
    { name: PROFILE_ANSWERS, partitions: 'one', cleanup: 'delete', retentionMs: HOUR_MS },
  ];
}
