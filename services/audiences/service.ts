import { type ConfigReader } from '../../shared/config/types';
import { warmDedupWindow } from '../../shared/kafka/dedup-warmup';
import { DEDUP_MS } from '../../shared/model/dedup-window';
import { type BatchProducer, type Consumption, type Kafka } from '../../shared/kafka/port';
import { retryingReads } from '../../shared/kafka/scan';
import { MESSAGES, PROFILE_EVENTS, PROFILE_STATUS, PROFILES } from '../../shared/kafka/topics';
import { type Lock, takeLock } from '../../shared/runtime/data-dir';
import { type Log } from '../../shared/telemetry/log';
import { type Definitions } from './definitions/compile';
import { PartitionProcessors } from './profiles/partition-processors';
import { otherPartitions } from './profiles/partition-state';
import { QueryServer } from './queries/server';
import {
  Repartitioner,
  REPARTITION_DEDUP_IDS,
  REPARTITION_GROUP,
  RepartitionProgress,
} from './repartition/handler';
import { statusRecords } from './status';

/** Runs the pipeline while any audience, trait or preview exists, and reports its status. */

const STATUS_EVERY_MS = 1_000;
/** Time that closing the pipeline takes at most while the service runs on. */
const CLOSE_PIPELINE_MS = 10_000;

export class Service {
  pipeline: Pipeline | undefined;
  /** the running change: opening or closing, one at a time */
  #changing: Promise<void> = Promise.resolve();
  #stopping = false;
  #status: BatchProducer | undefined;
  #queries: QueryServer | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #reported = new Map<string, string>();

  constructor(private readonly options: PipelineOptions) {}

  async start(): Promise<void> {
    const { kafka, config, log, onFatal } = this.options;
    const producer = (this.#status = await kafka.producer({
      maxPendingBytes: Infinity,
      deliveryTimeoutMs: 'retry',
    }));
    this.#queries = new QueryServer({
      kafka,
      producer,
      now: Date.now,
      log,
      onFatal,
      processors: () => this.pipeline?.processors ?? [],
      browser: () => this.options.definitions().browser,
      onPreview: () => void this.#change(),
    });
    config.onChange(() => void this.#change());
    await this.#queries.start();
    await this.#change();
    this.#timer = setInterval(() => this.#report(), STATUS_EVERY_MS);
  }

  notLive(): string[] {
    return (this.pipeline?.consumptions ?? []).flatMap((consumption) => consumption.stuck() ?? []);
  }

  notReady(): string[] {
    if (!this.#timer) return ['starting'];
    const joined = (this.pipeline?.consumptions ?? []).every((consumption) => consumption.joined);
    return joined ? [] : ['not yet in its consumer groups'];
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#timer);
    await this.#queries?.stop();
    await this.#changing;
    await this.pipeline?.close(deadlineMs - 1_000);
    await this.#status?.close(500);
  }

  /** Opens or closes the pipeline, depending on whether there is anything to compute. */
  #change(): Promise<void> {
    this.#changing = this.#changing
      .then(async () => {
        const wanted = this.#wanted();
        if (this.#stopping || wanted === (this.pipeline !== undefined)) return;
        if (wanted) {
          this.pipeline = await Pipeline.open(this.options);
          this.options.log.info('pipeline.opened');
          return;
        }
        const { pipeline } = this;
        this.pipeline = undefined;
        await pipeline?.close(CLOSE_PIPELINE_MS);
        this.options.log.info('pipeline.closed');
      })
      .catch(this.options.onFatal);
    return this.#changing;
  }

  #wanted(): boolean {
    return (
      this.options.definitions().all.length > 0 ||
      (this.#queries?.wantsProfiles(Date.now()) ?? false)
    );
  }

  #report(): void {
    // No event reports that the last preview has expired.
    if (this.pipeline && !this.#wanted()) void this.#change();
    for (const [partition, processor] of this.pipeline?.processors ?? []) {
      const report = processor.report();
      if (!report) continue;
      const records = statusRecords(partition, report, this.options.definitions(), Date.now());
      const changed = records.filter(({ key, same }) => this.#reported.get(key) !== same);
      for (const { key, same } of changed) this.#reported.set(key, same);
      const status = changed.map(({ key, value }) => ({ topic: PROFILE_STATUS, key, value }));
      // Only a stopping process refuses. The next owner reports the status.
      this.#status?.send(status).catch(() => undefined);
    }
  }
}

/**
 * Options of the pipeline, which copies messages to their users' partitions and maintains the
 * profiles there. It exists only while something is defined. Messages that arrive in other times
 * are read when it opens again, as far as they are still retained.
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

const PROFILES_GROUP = 'audiences-profiles';
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
    const sinceMs = Date.now() - DEDUP_MS;
    const warmUp = {
      name: 'audiences-dedup',
      sinceMs,
      atMost: REPARTITION_DEDUP_IDS,
      log,
      onFatal,
    };
    await warmDedupWindow(options.kafka, repartitioner, warmUp);
    const processors = new PartitionProcessors({
      kafka,
      producer: stepProducer,
      path: options.path,
      partitions,
      definitions,
      log,
      onFatal,
      progress: new RepartitionProgress(kafka, () => performance.now()),
      now: Date.now,
      onRoom: () => consumptions.processing?.resume(),
    });
    const processing = (consumptions.processing = await options.kafka.consume({
      group: PROFILES_GROUP,
      topics: [PROFILE_EVENTS],
      onFatal,
      rebalanceListener: processors,
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
