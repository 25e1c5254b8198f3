import { type Admin, ConfigResourceTypes, KafkaJSRequestTimeoutError } from 'kafkajs';
import { AppError, messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type DirectReader } from '../reader';
import { TOMBSTONES_MS, type TopicSpec } from '../topics';

/** Creates missing topics, and reports where existing ones differ from their specification. */

const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;
const TOMBSTONES = 'delete.retention.ms';
/** A loaded broker may need this long for the leaders of some hundred new partitions. */
const START_WITHIN_MS = 60_000;

/** Looks topics up, by their names without the prefix. */
type TopicReader = Pick<DirectReader, 'ranges' | 'partitionCounts'>;

export interface CreateTopicsOptions {
  prefix: string;
  specs: TopicSpec[];
  partitions: number;
  replication: number;
  log: Log;
}

/**
 * Creates missing topics. All services may run it concurrently. Existing topics are never changed:
 * differences are logged.
 * @throws AppError `cannot_start` if a topic cannot be created
 */
export async function createTopics(
  admin: Admin,
  reader: TopicReader,
  options: CreateTopicsOptions,
): Promise<void> {
  const { prefix, specs, replication } = options;
  const existing = new Set(await admin.listTopics());
  const missing = specs.filter((spec) => !existing.has(prefix + spec.name));
  if (missing.length > 0) {
    try {
      const topics = missing.map((spec) => ({
        topic: prefix + spec.name,
        numPartitions: spec.partitions === 'one' ? 1 : options.partitions,
        replicationFactor: replication,
        configEntries: Object.entries(topicConfig(spec, replication)).map(([name, value]) => ({
          name,
          value,
        })),
      }));
      // kafkajs itself waits for leaders for a few seconds only.
      await admin.createTopics({ topics, waitForLeaders: false }).catch((error: unknown) => {
        if (!isOutcomeUnknown(error)) throw error;
      });
      // A new leader refuses records for a moment, and a partly failed request is written again as
      // a whole.
      const names = missing.map(({ name }) => name);
      await reader.partitionCounts(names, START_WITHIN_MS);
      for (const name of names) await reader.ranges(name, undefined, START_WITHIN_MS);
      options.log.info({ topics: missing.map((spec) => spec.name) }, 'topics.created');
    } catch (error) {
      throw new AppError(
        'cannot_start',
        `the topics could not be created: ${explain(error, replication)}`,
        false,
        {
          cause: error,
        },
      );
    }
  }
  await reportDifferences(
    admin,
    reader,
    options,
    specs.filter((spec) => !missing.includes(spec)),
  );
}

/**
 * Returns the settings of a topic. All use LogAppendTime: a client's timestamp of 2012 must not
 * expire a record, and a tier must hold its records in the order of their due times. Segments roll
 * well before the retention ends: otherwise Kafka would not delete records in time.
 */
export function topicConfig(spec: TopicSpec, replication: number): Record<string, string> {
  const config: Record<string, string> = {
    'cleanup.policy': spec.cleanup,
    'message.timestamp.type': 'LogAppendTime',
    'unclean.leader.election.enable': 'false',
    'min.insync.replicas': String(replication >= 3 ? 2 : 1),
    'max.message.bytes': '1048576',
  };
  if (spec.retentionMs !== undefined) {
    config['retention.ms'] = String(spec.retentionMs);
    config['segment.ms'] = String(
      Math.min(WEEK_MS, Math.max(HOUR_MS, Math.floor(spec.retentionMs / 4))),
    );
  } else {
    config['min.cleanable.dirty.ratio'] = '0.1';
    config[TOMBSTONES] = String(TOMBSTONES_MS);
    config['segment.ms'] = String(24 * HOUR_MS);
  }
  if (spec.segmentBytes !== undefined) config['segment.bytes'] = String(spec.segmentBytes);
  if (spec.compactionLagMs !== undefined) {
    config['min.compaction.lag.ms'] = String(spec.compactionLagMs);
  }
  return config;
}

async function reportDifferences(
  admin: Admin,
  reader: TopicReader,
  options: CreateTopicsOptions,
  specs: TopicSpec[],
): Promise<void> {
  for (const { topic, setting, has, wants } of await findDifferences(
    admin,
    reader,
    options,
    specs,
  )) {
    if (setting !== 'partitions') options.log.warn({ topic, setting, has, wants }, 'topic.differs');
    else if (Number(wants) === 1 && Number(has) > 1) {
      throw new AppError('cannot_start', `topic ${topic} has ${has} partitions and must have one`);
    } else if (Number(has) < Number(wants)) {
      options.log.warn({ topic, has: Number(has), wants: Number(wants) }, 'topic.fewer_partitions');
    }
  }
}

/** A difference between a topic and its specification. */
export interface TopicDifference {
  /** with the prefix */
  topic: string;
  /** a setting of Kafka, or `partitions` */
  setting: string;
  has: string;
  wants: string;
}

/** Compares existing topics with their specification. @param specs only of existing topics */
export async function findDifferences(
  admin: Admin,
  reader: Pick<TopicReader, 'partitionCounts'>,
  { prefix, partitions, replication }: Omit<CreateTopicsOptions, 'log' | 'specs'>,
  specs: TopicSpec[],
): Promise<TopicDifference[]> {
  if (specs.length === 0) return [];
  // Another process may have created them just now.
  const counts = await reader.partitionCounts(
    specs.map(({ name }) => name),
    START_WITHIN_MS,
  );
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: specs.map((spec) => ({ type: ConfigResourceTypes.TOPIC, name: prefix + spec.name })),
  });
  return specs.flatMap((spec) => {
    const topic = prefix + spec.name;
    const entries = resources.find((r) => r.resourceName === topic)?.configEntries ?? [];
    const found = entries.map(({ configName, configValue }) => [configName, configValue] as const);
    const has = new Map([...found, ['partitions', String(counts.get(spec.name) ?? 0)]]);
    const wants = {
      partitions: String(spec.partitions === 'one' ? 1 : partitions),
      ...topicConfig(spec, replication),
    };
    return Object.entries(wants).flatMap(([setting, value]) => {
      const now = has.get(setting);
      // A longer retention of tombstones does no harm.
      const fits = now === value || (setting === TOMBSTONES && Number(now) > Number(value));
      return now === undefined || fits ? [] : [{ topic, setting, has: now, wants: value }];
    });
  });
}

/** Tells whether the topics may exist all the same: a loaded controller answers late. */
function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof KafkaJSRequestTimeoutError) return true;
  const errors = errorsOf(error);
  return (
    errors.length > 0 &&
    errors.every(({ type }) => type === 'REQUEST_TIMED_OUT' || type === 'TOPIC_ALREADY_EXISTS')
  );
}

/** Returns the error of each topic that could not be created. */
function errorsOf(error: unknown): { type?: string; topic?: string }[] {
  return (error as { errors?: { type?: string; topic?: string }[] } | null)?.errors ?? [];
}

function explain(error: unknown, replication: number): string {
  const errors = errorsOf(error);
  // Kafka hides a topic from a user who may not describe it: an existing topic can be among these.
  const refused = errors
    .filter(({ type }) => type === 'TOPIC_AUTHORIZATION_FAILED')
    .map(({ topic }) => topic);
  if (refused.length > 0) {
    return (
      `this user may not describe or create ${refused.join(', ')} ` +
      '(TOPIC_AUTHORIZATION_FAILED). Create the topics that are missing, and grant the ' +
      `rights that \`node dist/bin/main.js acls\` prints`
    );
  }
  const inner = errors.find(({ type }) => type !== 'TOPIC_ALREADY_EXISTS') ?? error;
  const type = (inner as { type?: unknown } | null)?.type;
  if (type === 'INVALID_REPLICATION_FACTOR') {
    return (
      `there are fewer than ${String(replication)} brokers; set WAYPOST_REPLICATION to the ` +
      'number of replicas'
    );
  }
  return messageOf(inner);
}
