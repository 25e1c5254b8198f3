import { type ConfigReader } from '../../shared/config/types';
import { type BatchProducer, type Consumption, type Kafka } from '../../shared/kafka/port';
import { type Lock, takeLock } from '../../shared/service/data-dir-lock';
import { retryingReads } from '../../shared/kafka/reader';
import { warmDedupWindow } from '../../shared/kafka/dedup-warmup';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { type Definitions } from './definitions/compile';
import { Repartitioner, REKEY_IDS } from './repartition/handler';
import { PartitionProcessors } from './profiles/partition-processors';
import { otherPartitions } from './profiles/partition-state';
import { RepartitionProgress, REPARTITION_GROUP } from './repartition/handler';

/**
 * Options of the pipeline, which copies messages to their users' partitions and maintains the profiles there. It exists
 * only while something is defined. Messages that arrive in other times are read when it opens again, as far as they are
 * still retained.
 */
export interface PipelineOptions {
  kafka: Kafka;
  config: ConfigReader;
  /** folder of the stores */
  path: string;
  definitions: () => Definitions;
  log: Log;
  onFatal: (error: unknown) => void;
}

const KEEPERS_GROUP = 'audiences-profiles';
const GATHER_MS = 10;
/** Time that closing takes after the last record was begun. */
const CLOSE_MS = 1_000;

export class Pipeline {
  private constructor(
    readonly rekey: Repartitioner,
    readonly keepers: PartitionProcessors,
    private readonly parts: { rekeying: Consumption; keeping: Consumption; appenders: BatchProducer[]; lock: Lock },
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
    const { kafka, config, definitions, log, onFatal } = options;
    const asked = retryingReads(kafka, log);
    const [partitions, before] = [(await asked.ranges(PROFILE_EVENTS)).length, (await asked.ranges(PROFILES)).length];
    if (partitions !== before) throw otherPartitions(partitions, before);
    const appending = { maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' as const, lingerMs: GATHER_MS };
    const [rekeyed, kept] = await Promise.all([kafka.producer(appending), kafka.producer(appending)]);
    const consumptions: { rekeying?: Consumption; keeping?: Consumption } = {};
    const rekey = new Repartitioner({
      config,
      producer: rekeyed,
      log,
      onRoom: () => consumptions.rekeying?.resume(),
      onFatal,
    });
    await warmDedupWindow(kafka, rekey, { name: 'audiences-recall', atMost: REKEY_IDS, log, onFatal });
    const keepers = new PartitionProcessors({
      ...{ kafka: asked, producer: kept, path: options.path, partitions, definitions, log, onFatal },
      progress: new RepartitionProgress(asked, Date.now),
      now: Date.now,
      onRoom: () => consumptions.keeping?.resume(),
    });
    const keeping = (consumptions.keeping = await kafka.consume({
      ...{ group: KEEPERS_GROUP, topics: [PROFILE_EVENTS], onFatal, rebalanceListener: keepers },
      onRecord: (record) => keepers.onRecord(record),
    }));
    const rekeying = (consumptions.rekeying = await kafka.consume({
      ...{ group: REPARTITION_GROUP, topics: [MESSAGES], onFatal },
      onRecord: (record) => rekey.onRecord(record),
    }));
    return new Pipeline(rekey, keepers, { rekeying, keeping, appenders: [rekeyed, kept], lock });
  }

  get consumptions(): Consumption[] {
    return [this.parts.rekeying, this.parts.keeping];
  }

  async close(deadlineMs: number): Promise<void> {
    const { rekeying, keeping, appenders, lock } = this.parts;
    await rekeying.stop(deadlineMs / 2 - CLOSE_MS);
    // The queue is written while this process is still a member of the group.
    await Promise.all([this.keepers.stop(), keeping.stop(deadlineMs / 2 - CLOSE_MS)]);
    await Promise.all(appenders.map((producer) => producer.close(CLOSE_MS)));
    lock.release();
  }
}
