import { type Admin, ConfigResourceTypes, ConfigSource } from 'kafkajs';
import { messageOf } from '../../runtime/errors';
import { type DirectReader } from '../reader';
import { type CreateTopicsOptions, findDifferences, topicConfig } from './create-topics';

/** Changes the retention of existing topics to WAYPOST_TOPIC_RETENTION. */

/** With longer segments, Kafka would delete the first records of a segment too late. */
const CHANGED = ['retention.ms', 'segment.ms'] as const;

/**
 * Alters the topics whose retention is set and differs. Logs where Kafka refuses it, because
 * deliveries go on.
 */
export async function setRetention(
  admin: Admin,
  reader: Pick<DirectReader, 'partitionCounts'>,
  options: CreateTopicsOptions,
): Promise<void> {
  const { prefix, specs, replication, log } = options;
  const differences = await findDifferences(
    admin,
    reader,
    options,
    specs.filter(({ retentionIsSet }) => retentionIsSet),
  );
  for (const spec of specs) {
    const topic = prefix + spec.name;
    const differing = differences.filter(
      (each) => each.topic === topic && CHANGED.some((name) => name === each.setting),
    );
    if (differing.length === 0) continue;
    const had = Object.fromEntries(differing.map(({ setting, has }) => [setting, has]));
    const wants = topicConfig(spec, replication);
    try {
      await alter(admin, topic, new Map(CHANGED.map((name) => [name, wants[name] ?? ''])));
      log.info({ topic, had, retentionMs: spec.retentionMs }, 'topic.retention_set');
    } catch (error) {
      log.warn(
        { topic, retentionMs: spec.retentionMs, reason: messageOf(error) },
        'topic.retention_not_set',
      );
    }
  }
}

/**
 * Returns the retention of topics by name, ms. Topics that keep their records, or the last of each
 * key, are left out.
 */
export async function readRetention(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, number>> {
  const configNames = ['retention.ms', 'cleanup.policy'];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: ConfigResourceTypes.TOPIC, name, configNames })),
  });
  const retention = new Map<string, number>();
  for (const { resourceName, configEntries } of resources) {
    const valueOf = (name: string) =>
      configEntries.find(({ configName }) => configName === name)?.configValue;
    const ms = Number(valueOf('retention.ms') ?? -1);
    if (ms >= 0 && valueOf('cleanup.policy') !== 'compact') retention.set(resourceName, ms);
  }
  return retention;
}

/**
 * Repeats the settings that stay, because the request of kafkajs replaces all settings of a topic.
 */
async function alter(
  admin: Admin,
  topic: string,
  changes: ReadonlyMap<string, string>,
): Promise<void> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [resource],
  });
  const own = (resources[0]?.configEntries ?? []).filter(
    ({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG,
  );
  const present = own.map(({ configName, configValue }): [string, string] => [
    configName,
    configValue,
  ]);
  const configEntries = [...new Map([...present, ...changes])].map(([name, value]) => ({
    name,
    value,
  }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
}
