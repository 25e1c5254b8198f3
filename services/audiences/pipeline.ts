import { type ConfigReader } from '../../shared/config/types';
import { type FollowedDeletions } from '../../shared/deletions/reader';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { meterCut } from '../../shared/kafka/metrics';
import { type BatchProducer, type Consumption, type Kafka } from '../../shared/kafka/port';
import { retryingReads } from '../../shared/kafka/scan';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../shared/kafka/topics';
import { type Lock, takeLock } from '../../shared/runtime/data-dir';
import { type Log } from '../../shared/telemetry/log';
import { type Definitions } from './definitions/compile';
import { PartitionProcessors } from './profiles/partition-processors';
import { otherPartitions } from './profiles/partition-state';
import { PROFILES_GROUP } from './profiles/restore';
import { Repartitioner, REPARTITION_GROUP, RepartitionProgress } from './repartition/repartitioner';

/**
 * Options of the pipeline, which copies messages to their users' partitions and maintains the
 * profiles there. It exists only while something is defined. Messages that arrive in other times
 * are read when it opens again, as far as they are still retained.
 */
export interface PipelineOptions {
  kafka: Kafka;
  config: ConfigReader;
  deletions: FollowedDeletions;
  /** folder of the stores */
  path: string;
  definitions: () => Definitions;
  log: Log;
  onFatal: (error: unknown) => void;
}

const LINGER_MS = 10;
/** Time that closing takes after the last record was begun. */
const CLOSE_PRODUCERS_MS = 1_000;

/** Copies messages to their users' partitions, and computes the profiles there. */
export class Pipeline {
  private constructor(
    readonly repartitioner: Repartitioner,
    readonly processors: PartitionProcessors,
    private readonly parts: {
      copying: Consumption;
      processing: Consumption;
      producers: BatchProducer[];
      lock: Lock;
    },
  ) {}

  /** @throws AppError `cannot_start` if another process has the stores of this folder open */
  static async open(options: PipelineOptions): Promise<Pipeline> {
    const lock = takeLock(options.path);
    try {
      return await Pipeline.#open(options, lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  static async #open(options: PipelineOptions, lock: Lock): Promise<Pipeline> {
    const { config, definitions, log, onFatal } = options;
    const kafka = retryingReads(options.kafka, log);
    const [partitions, before] = [
      (await kafka.ranges(PROFILE_EVENTS)).length,
      (await kafka.ranges(PROFILES)).length,
    ];
    if (partitions !== before) throw otherPartitions(partitions, before);
    // The series exists from the start, so that the first cut shows as an increase.
    meterCut(PROFILES_GROUP, PROFILES, 0);
    const producing = {
      maxPendingBytes: Infinity,
      deliveryTimeoutMs: 'retry' as const,
      lingerMs: LINGER_MS,
    };
    const [eventProducer, stepProducer] = await Promise.all([
      options.kafka.producer(producing),
      options.kafka.producer(producing),
    ]);
    const consumptions: { copying?: Consumption; processing?: Consumption } = {};
    const repartitioner = new Repartitioner({
      config,
      producer: eventProducer,
      log,
      onRoom: () => consumptions.copying?.resume(),
      onFatal,
    });
    const processors = new PartitionProcessors({
      kafka,
      tryingKafka: options.kafka,
      producer: stepProducer,
      path: options.path,
      partitions,
      definitions,
      deletions: options.deletions,
      log,
      onFatal,
      progress: new RepartitionProgress(kafka, () => performance.now()),
      // Deletions of users are by this time.
      now: () => brokerClock.now(),
      onRoom: () => consumptions.processing?.resume(),
    });
    const processing = (consumptions.processing = await options.kafka.consume({
      group: PROFILES_GROUP,
      topics: [PROFILE_EVENTS],
      onFatal,
      rebalanceListener: processors,
      onRestart: (restart) => processors.onRestart(restart),
      onRecord: (record) => processors.onRecord(record),
    }));
    const copying = (consumptions.copying = await options.kafka.consume({
      group: REPARTITION_GROUP,
      topics: [MESSAGES],
      onFatal,
      onRecord: (record) => repartitioner.onRecord(record),
    }));
    const producers = [eventProducer, stepProducer];
    return new Pipeline(repartitioner, processors, { copying, processing, producers, lock });
  }

  get consumptions(): Consumption[] {
    return [this.parts.copying, this.parts.processing];
  }

  async close(deadlineMs: number): Promise<void> {
    const { copying, processing, producers, lock } = this.parts;
    await copying.stop(deadlineMs / 2 - CLOSE_PRODUCERS_MS);
    // The queue is written while this process is still a member of the group.
    await Promise.all([
      this.processors.stop(),
      processing.stop(deadlineMs / 2 - CLOSE_PRODUCERS_MS),
    ]);
    await Promise.all(producers.map((producer) => producer.close(CLOSE_PRODUCERS_MS)));
    lock.release();
  }
}
