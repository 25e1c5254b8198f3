import { type Admin, ConfigResourceTypes } from 'kafkajs';
import { messageOf } from '../../runtime/errors';
import { type Settings } from '../../runtime/settings';
import { DirectReader } from '../reader';
import { briefClient, kafkaAddress } from './connection';
import { connectLogs } from './consumer-brokers';
import { findDifferences, type TopicDifference } from './create-topics';
import { CONFIG, DUE, MESSAGES, specsOf, tierDelayMs, TIER_PREFIX, WEBHOOKS } from '../topics';

/** Inspects the topics and consumer groups of a system without creating any. */

export interface TopicFindings {
  /** with the prefix */
  missing: string[];
  differences: TopicDifference[];
  count: number;
}

/** Compares all topics with their specification. @throws if Kafka does not answer */
export async function inspectTopics(settings: Settings): Promise<TopicFindings> {
  return withKafka(settings, async (admin, reader) => {
    const prefix = settings.WAYPOST_TOPIC_PREFIX;
    const specs = specsOf(settings);
    const existing = new Set(await admin.listTopics());
    const present = specs.filter(({ name }) => existing.has(prefix + name));
    const wanted = {
      prefix,
      partitions: settings.WAYPOST_PARTITIONS,
      replication: settings.WAYPOST_REPLICATION ?? 3,
    };
    return {
      missing: specs.filter((spec) => !present.includes(spec)).map(({ name }) => prefix + name),
      differences: await findDifferences(admin, reader, wanted, present),
      count: present.length,
    };
  });
}

/** Offsets that a group has lost, or may lose. */
export interface OffsetFindings {
  /**
   * partitions that hold records and have no committed offset: their group reads them from the
   * beginning
   */
  uncommitted: { group: string; topic: string; partitions: number[] }[];
  /** the shortest `offsets.retention.minutes` of the brokers, or why it could not be read */
  retentionMinutes: number | string;
  /** the longest that a topic of these groups keeps records, minutes */
  longestMinutes: number;
}

/**
 * Inspects the groups of router, delivery and retry: if one of them starts from the beginning,
 * receivers get requests again.
 * @throws if Kafka does not answer
 */
export async function inspectOffsets(settings: Settings): Promise<OffsetFindings> {
  const specs = specsOf(settings);
  const tiers = specs.map(({ name }) => name).filter((name) => name.startsWith(TIER_PREFIX));
  const reads = { router: [MESSAGES], delivery: [WEBHOOKS, DUE], retry: tiers };
  return withKafka(settings, async (admin, reader) => {
    const prefix = settings.WAYPOST_TOPIC_PREFIX;
    // This comes first, because kafkajs finds coordinators only once it knows the brokers.
    const { brokers } = await admin.describeCluster();
    const uncommitted: OffsetFindings['uncommitted'] = [];
    for (const [service, topics] of Object.entries(reads)) {
      const group = `${prefix}waypost-${service}`;
      const committed = await admin.fetchOffsets({ groupId: group });
      for (const name of topics) {
        const topic = prefix + name;
        const found = committed.find((each) => each.topic === topic)?.partitions ?? [];
        const known = new Set(
          found.filter(({ offset }) => Number(offset) >= 0).map(({ partition }) => partition),
        );
        const waiting = await firstNotDue(reader, name);
        const partitions = (await reader.ranges(name)).flatMap(({ partition, low, high }) =>
          Math.min(high, waiting.get(partition) ?? high) > low && !known.has(partition)
            ? [partition]
            : [],
        );
        if (partitions.length > 0) {
          uncommitted.push({ group, topic, partitions: partitions.sort((a, b) => a - b) });
        }
      }
    }
    const read: readonly string[] = Object.values(reads).flat();
    const longestMs = Math.max(
      ...specs.map(({ name, retentionMs = 0 }) => (read.includes(name) ? retentionMs : 0)),
    );
    return {
      uncommitted,
      retentionMinutes: await offsetsRetention(admin, brokers),
      longestMinutes: longestMs / 60_000,
    };
  });
}

/** After its delay, a record leaves its tier within this time, unless retry lags, ms. */
const LEAVES_WITHIN_MS = 60_000;

/**
 * Returns the first offset of each partition of a tier whose record is not due: retry commits
 * nothing while it only waits. Empty for another topic.
 */
async function firstNotDue(
  reader: Pick<DirectReader, 'ranges'>,
  topic: string,
): Promise<Map<number, number>> {
  const tierMs = tierDelayMs(topic);
  if (tierMs === undefined) return new Map();
  const ranges = await reader.ranges(topic, Date.now() - tierMs - LEAVES_WITHIN_MS);
  return new Map(ranges.map(({ partition, low }) => [partition, low]));
}

async function offsetsRetention(
  admin: Admin,
  brokers: readonly { nodeId: number }[],
): Promise<number | string> {
  const setting = 'offsets.retention.minutes';
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: brokers.map(({ nodeId }) => ({
        type: ConfigResourceTypes.BROKER,
        name: String(nodeId),
        configNames: [setting],
      })),
    });
    const values = resources.flatMap(({ configEntries }) =>
      configEntries
        .filter(({ configName }) => configName === setting)
        .map(({ configValue }) => Number(configValue)),
    );
    return values.length > 0 ? Math.min(...values) : 'brokers do not say';
  } catch (error) {
    // A managed cluster may not let clients read the settings of its brokers.
    return messageOf(error);
  }
}

async function withKafka<T>(
  settings: Settings,
  ask: (admin: Admin, reader: DirectReader) => Promise<T>,
): Promise<T> {
  const client = briefClient(kafkaAddress(settings), 'waypost-inspect');
  const prefix = settings.WAYPOST_TOPIC_PREFIX;
  const reader = new DirectReader(() => connectLogs(client, prefix + CONFIG), prefix);
  const admin = client.admin();
  await admin.connect();
  try {
    return await ask(admin, reader);
  } finally {
    await reader.close();
    await admin.disconnect();
  }
}
