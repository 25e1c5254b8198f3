import { type KafkaConfig, type logCreator, logLevel } from 'kafkajs';
import { requireBrokers, type Settings } from '../../runtime/settings';
import { type Log } from '../../telemetry/log';
import { connectAdmin, kafkaAddress, letOthersReturn } from './connection';
import { KafkaBatchProducer } from '../produce/batch-producer';
import { kafkajsClient } from './patches';
import { KafkaConsumption } from '../consumer/consumer';
import { type FetchWait } from '../idle-wait';
import { connectConsumer, connectLogs } from './consumer-brokers';
import { type Kafka } from '../port';
import { connectRequestSender } from './request-sender';
import { DirectReader, orUnavailable } from '../reader';
import { recordAt, type RecordPlace } from '../scan';
import { KafkaTail } from '../tail';
import { createTopics, type CreateTopicsOptions } from './create-topics';
import { describeGroup, readCommittedOffsets } from './describe-group';
import { readRetention, setRetention } from './topic-retention';
import { CONFIG, specsOf } from '../topics';

const FETCH_WAIT_MS = 100;
const PARTITION_BYTES = 256 * 1024;
const BATCH_FETCH_BYTES = 256 * 1024;

/**
 * Connects to Kafka, creates and checks the topics, and returns the port of `port.ts`.
 * @throws AppError `cannot_start`, with one plain sentence, if no broker answers
 */
export async function connectKafka(
  settings: Settings,
  options: { clientId: string; log: Log },
): Promise<Kafka> {
  const { log } = options;
  const { KAFKA_SASL_MECHANISM: mechanism } = settings;
  if ((mechanism === 'plain' || mechanism === 'oauthbearer') && !settings.KAFKA_SSL) {
    log.warn(
      { reason: `KAFKA_SASL_MECHANISM=${mechanism} needs KAFKA_SSL=true` },
      'kafka.password_in_clear',
    );
  }
  const client = kafkajsClient({
    ...clientConfig(settings),
    clientId: `waypost-${options.clientId}`,
    logCreator: kafkaLogger(log),
  });
  const admin = client.admin();
  const since = performance.now();
  await connectAdmin(admin, requireBrokers(settings));
  const othersReturned = letOthersReturn(performance.now() - since, log);
  const { WAYPOST_TOPIC_PREFIX: prefix, KAFKA_CLIENT_RACK: rack = '' } = settings;
  const topics: CreateTopicsOptions = {
    prefix,
    specs: specsOf(settings),
    partitions: settings.WAYPOST_PARTITIONS,
    log,
    replication: settings.WAYPOST_REPLICATION ?? 3,
  };
  const reader = new DirectReader(() => connectLogs(client, prefix + CONFIG), prefix);
  await createTopics(admin, reader, topics);
  return {
    read: (at) => reader.read(at),
    committed: (group, topic) =>
      orUnavailable(readCommittedOffsets(admin, `${prefix}waypost-${group}`, prefix + topic)),
    ranges: (topic, sinceMs) => reader.ranges(topic, sinceMs),
    producer: async (producerOptions) => {
      const producer = await connectRequestSender(client, prefix);
      return new KafkaBatchProducer(producer, producerOptions, log);
    },
    consume: async (consumeOptions) => {
      await othersReturned;
      const groupId = `${prefix}waypost-${consumeOptions.group}`;
      const {
        maxBytesPerPartition = PARTITION_BYTES,
        fetchWaitMs = FETCH_WAIT_MS,
        batchMs,
      } = consumeOptions;
      const parts = {
        brokers: await connectConsumer(client, groupId, prefix + CONFIG),
        describe: () => describeGroup(admin, groupId),
        retention: (topics: readonly string[]) => readRetention(admin, topics),
        groupId,
        prefix,
        rack,
        wait: fetchWait(batchMs, fetchWaitMs),
        maxBytesPerPartition,
        recordAt: (at: RecordPlace) => recordAt(reader, at),
        log,
      };
      const consumption = new KafkaConsumption(parts, consumeOptions);
      await consumption.start();
      return consumption;
    },
    tail: async (tailOptions) => {
      const tail = new KafkaTail({
        ...tailOptions,
        prefix,
        wait: fetchWait(tailOptions.batchMs),
        brokers: await connectLogs(client, prefix + CONFIG),
        log,
      });
      await tail.start();
      return tail;
    },
    listTopics: async () => {
      const all = await admin.listTopics();
      return all.flatMap((topic) => (topic.startsWith(prefix) ? [topic.slice(prefix.length)] : []));
    },
    setRetention: () => setRetention(admin, reader, topics),
    close: async () => {
      await reader.close();
      await admin.disconnect();
    },
  };
}

function fetchWait(batchMs: number | undefined, otherwiseMs = FETCH_WAIT_MS): FetchWait {
  return batchMs === undefined
    ? { maxWaitTime: otherwiseMs, minBytes: 1 }
    : { maxWaitTime: batchMs, minBytes: BATCH_FETCH_BYTES };
}

/** Returns the part of kafkajs's configuration that depends on the settings. */
function clientConfig(settings: Settings): KafkaConfig {
  return {
    ...kafkaAddress(settings),
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
  };
}

/**
 * Writes kafkajs's log lines to Waypost's log. kafkajs logs normal events as errors (a rebalance, a
 * loading coordinator, a retry after a broker is unreachable), so that the highest level here is a
 * warning. Relevant errors are also thrown.
 */
function kafkaLogger(log: Log): logCreator {
  return () =>
    ({ namespace, level, log: entry }) => {
      const { message } = entry;
      const { error, topic, partition, groupId, broker } = entry as Record<string, unknown>;
      const line = {
        client: 'kafkajs',
        namespace,
        topic,
        partition,
        groupId,
        broker,
        reason: error,
      };
      if (level === logLevel.ERROR || level === logLevel.WARN) {
        if (
          namespace === 'Connection' ||
          /rebalancing|Crash|Restarting|Failed to send/.test(message)
        ) {
          log.debug(line, message);
        } else {
          log.warn(line, message);
        }
      } else {
        log.debug(line, message);
      }
    };
}
