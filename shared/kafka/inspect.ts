import { Kafka as KafkaJs } from 'kafkajs';
import { type Settings } from '../settings';
import { kafkaAddress } from './address';
import { findDifferences, type TopicDifference } from './ensure';
import { lookConfig } from './ready';
import { topicSpecs } from './topics';

/** Looks at the topics of a system and makes none. */

export interface TopicFindings {
  /** with the prefix */
  missing: string[];
  differences: TopicDifference[];
  count: number;
}

/** @throws where Kafka does not answer */
export async function inspectTopics(settings: Settings): Promise<TopicFindings> {
  const admin = new KafkaJs({ ...lookConfig(kafkaAddress(settings)), clientId: 'waypost-inspect' }).admin();
  await admin.connect();
  try {
    const prefix = settings.WAYPOST_TOPIC_PREFIX;
    const specs = topicSpecs({ retryDelaysMs: settings.WAYPOST_RETRY_DELAYS, windowMs: settings.WAYPOST_RETRY_WINDOW });
    const existing = new Set(await admin.listTopics());
    const present = specs.filter(({ name }) => existing.has(prefix + name));
    const wanted = {
      prefix,
      partitions: settings.WAYPOST_PARTITIONS,
      replication: settings.WAYPOST_REPLICATION ?? 3,
    };
    return {
      missing: specs.filter((spec) => !present.includes(spec)).map(({ name }) => prefix + name),
      differences: await findDifferences(admin, wanted, present),
      count: present.length,
    };
  } finally {
    await admin.disconnect();
  }
}
