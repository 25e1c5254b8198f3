import { type BatchProducer } from '../../shared/kafka/port';
import { PROFILES, PROFILE_STATUS } from '../../shared/kafka/topics';
import { Pipeline, type PipelineOptions } from './pipeline';
import { QueryServer } from './queries/server';
import { definitionIn, statusRecords, type StatusUpdate, tombstone } from './status';

/**
 * Runs the pipeline while any audience, trait or preview exists, or a deletion concerns the
 * profiles of earlier ones, and reports its status.
 */

const STATUS_EVERY_MS = 1_000;
/** Time that closing the pipeline takes at most while the service runs on. */
const CLOSE_PIPELINE_MS = 10_000;

/** The log of the profiles keeps a deletion for this time, in which it is applied. */
const DELETION_KEPT_MS = 7 * 86_400_000;

export class Audiences {
  pipeline: Pipeline | undefined;
  /** profiles outlast the definitions that they were made for */
  #hasProfiles = false;
  /** the running change: opening or closing, one at a time */
  #changing: Promise<void> = Promise.resolve();
  #stopping = false;
  #status: BatchProducer | undefined;
  #queries: QueryServer | undefined;
  #isStarted = false;
  /** while the pipeline is open */
  #reporting: NodeJS.Timeout | undefined;
  readonly #reported = new Map<string, string>();

  constructor(private readonly options: PipelineOptions) {}

  async start(): Promise<void> {
    const { kafka, config, deletions, log, onFatal } = this.options;
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
    this.#hasProfiles = (await kafka.ranges(PROFILES)).some(({ high }) => high > 0);
    config.onChange(() => void this.#change());
    deletions.onDeletion(() => void this.#change());
    await this.#queries.start();
    await this.#change();
    this.#isStarted = true;
  }

  notLive(): string[] {
    return (this.pipeline?.consumptions ?? []).flatMap((consumption) => consumption.stuck() ?? []);
  }

  notReady(): string[] {
    if (!this.#isStarted) return ['starting'];
    const joined = (this.pipeline?.consumptions ?? []).every((consumption) => consumption.joined);
    return joined ? [] : ['not yet in its consumer groups'];
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    await this.#queries?.stop();
    await this.#changing;
    clearInterval(this.#reporting);
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
          this.#hasProfiles = true;
          this.#reporting = setInterval(() => this.#report(), STATUS_EVERY_MS);
          this.options.log.info('pipeline.opened');
          return;
        }
        const { pipeline } = this;
        clearInterval(this.#reporting);
        this.pipeline = undefined;
        await pipeline?.close(CLOSE_PIPELINE_MS);
        // Removes the status of the last definition, which is deleted now.
        this.#report();
        this.options.log.info('pipeline.closed');
      })
      .catch(this.options.onFatal);
    return this.#changing;
  }

  #wanted(): boolean {
    const { definitions, deletions } = this.options;
    return (
      definitions().all.length > 0 ||
      (this.#queries?.wantsProfiles(Date.now()) ?? false) ||
      (this.#hasProfiles && deletions.latestAt > Date.now() - DELETION_KEPT_MS)
    );
  }

  #report(): void {
    // No event reports that the last preview has expired.
    if (this.pipeline && !this.#wanted()) void this.#change();
    for (const [partition, processor] of this.pipeline?.processors ?? []) {
      const report = processor.report();
      if (!report) continue;
      this.#sendStatus(statusRecords(partition, report, this.options.definitions(), Date.now()));
    }
    // Their partition may be open no more.
    const known = this.options.definitions();
    const deleted = [...this.#reported.keys()].filter((key) => !known.of(definitionIn(key)));
    this.#sendStatus(deleted.map(tombstone));
  }

  /** Sends what has changed. */
  #sendStatus(records: readonly StatusUpdate[]): void {
    const changed = records.filter(({ key, same }) => this.#reported.get(key) !== same);
    for (const { key, same } of changed) this.#reported.set(key, same);
    const status = changed.map(({ key, value }) => ({ topic: PROFILE_STATUS, key, value }));
    // Only a stopping process refuses. The next owner reports the status.
    if (status.length > 0) this.#status?.send(status).catch(() => undefined);
  }
}
