import { type Authenticator } from '../../../shared/config/authentication';
import { backoff, inTurn, sleep, withTimeout } from '../../../shared/runtime/async';
import { newerFormatOf } from '../../../shared/model/record-format';
import { AppError, messageOf, newerFormat } from '../../../shared/runtime/errors';
import { Problem } from '../http/problem';
import {
  type Consumption,
  type Kafka,
  type OpenRecord,
  type Range,
} from '../../../shared/kafka/port';
import { ATTEMPTS, CONFIG } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { parseFacts, recordFacts, type ConfigFact } from './audit';
import { type Database, faultOf, isAway } from './database';
import { type Deletion, Forgotten, recordDeletion } from './deletions';
import { watchCpuPressure } from './cpu-pressure';
import { BatchWriter } from './batch-writer';
import { type Event, parseLater } from './parse-events';
import { type Retention, StoredDeliveries } from './retention';
import { databaseId, migrate } from './schema';

/**
 * Stores `attempts` and serves the queries of the API. No delivery depends on it: while its
 * database cannot be used, control logs this, retries, and continues with everything else.
 */

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const KEEP_EVERY_MS = 60_000;

export interface HistoryOptions {
  /** opens the database; called again after a failure */
  open: () => Promise<Database>;
  kafka: Pick<Kafka, 'consume' | 'committed'>;
  /** of the records of `config` */
  authenticator: Pick<Authenticator, 'distrust'>;
  keep: Retention;
  now: () => number;
  log: Log;
  onFatal: (error: unknown) => void;
}

export class History {
  #database: Database | undefined;
  #why: string | undefined = 'the database is being opened';
  /** the record of a newer format at which a partition waits */
  #newer: string | undefined;
  /** deletions of users that this process knows */
  readonly forgotten = new Forgotten();
  #consumptions: Consumption[] = [];
  #keeping: NodeJS.Timeout | undefined;
  readonly #inTurn = inTurn();
  #stopped = false;
  readonly #deliveries: StoredDeliveries;
  readonly #feed: BatchWriter<Event>;
  readonly #audit: BatchWriter<ConfigFact>;

  constructor(private readonly options: HistoryOptions) {
    const { now, log, keep } = options;
    this.#deliveries = new StoredDeliveries({ now, log, keep, forgotten: this.forgotten });
    const faultIn = (error: unknown) => faultOf(error, this.#database);
    const common = {
      faultOf: faultIn,
      othersFirst: watchCpuPressure(),
      now,
      onRoom: () => this.#resume(),
      log,
    };
    this.#feed = new BatchWriter({
      ...common,
      parse: parseLater,
      write: (events) => this.#writing((database) => this.#write(database, events)),
    });
    this.#audit = new BatchWriter({
      ...common,
      parse: (record) => parseFacts(record, options.authenticator),
      write: (facts) => this.#writing((database) => recordFacts(database, facts)),
    });
  }

  /**
   * Resolves when the first try to open the database ends. If it failed, opening is retried until
   * it succeeds.
   * @throws AppError `older_format` if an earlier build made the database
   */
  async start(): Promise<void> {
    await this.#open();
    if (!this.#database) void this.#openLater();
  }

  /** Why the history is unavailable or lags behind; undefined if it works. */
  get trouble(): string | undefined {
    return this.#why ?? this.#newer ?? this.#feed.trouble ?? this.#audit.trouble;
  }

  /** Events and audit notes that could not be stored since the process started. */
  get leftOut(): number {
    return this.#feed.leftOut + this.#audit.leftOut;
  }

  /**
   * Runs a query.
   * @throws Problem `unavailable` while the database cannot be used
   */
  async ask<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const database = this.#database;
    if (!database) throw unavailable(this.#why ?? 'it is closed');
    try {
      return await work(database);
    } catch (error) {
      if (error instanceof Problem || !isAway(error, database)) throw error;
      this.options.log.warn({ reason: messageOf(error) }, 'history.unavailable');
      this.#reopenIfBroken(database);
      throw unavailable('it does not answer');
    }
  }

  /**
   * Removes the rows of users, and rejects their deliveries that were accepted before the deletion.
   * @returns the number of removed rows
   * @throws Problem `unavailable`
   */
  async forget(deletion: Deletion): Promise<number> {
    const rows = await this.ask((database) =>
      this.#inTurn(() => recordDeletion(database, deletion)),
    );
    if (rows > 0) this.#deliveries.cleanUpSoon();
    await this.learnDeletions();
    return rows;
  }

  /** Reads the deletions that other processes wrote. @throws Problem `unavailable` */
  async learnDeletions(): Promise<void> {
    await this.ask((database) => this.forgotten.refresh(database, this.options.now()));
  }

  /**
   * Returns whether the database holds everything before these ends of `attempts`, whichever
   * process read it.
   * @throws Problem `unavailable`; AppError `kafka_unavailable`
   */
  async hasRead(ends: readonly Range[]): Promise<boolean> {
    const group = groupOf('history', await this.ask(databaseId));
    const committed = await this.options.kafka.committed(group, ATTEMPTS);
    return ends.every(
      ({ partition, low, high }) => high <= low || (committed[partition] ?? 0) >= high,
    );
  }

  /**
   * Stops reading, and writes the records that were handed out. Queries still work, and wait for no
   * new rows.
   */
  async stopReading(deadlineMs: number): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#keeping);
    const feeds = [this.#feed, this.#audit];
    feeds.forEach((feed) => feed.hurry());
    const read = Promise.all(
      this.#consumptions.map((each) => each.stop(Math.min(1_000, deadlineMs))),
    );
    const written = () => Promise.all(feeds.map((feed) => feed.stop()));
    await withTimeout(deadlineMs, read.then(written));
  }

  async stop(): Promise<void> {
    await this.#inTurn(() => Promise.resolve());
    await this.#database?.close();
    [this.#database, this.#why] = [undefined, 'it is closed'];
  }

  async #open(): Promise<void> {
    const { open, log } = this.options;
    let database: Database | undefined;
    try {
      database = await open();
      await migrate(database);
      await this.#deliveries.open(database);
      await this.forgotten.refresh(database, this.options.now());
      await this.#consume(database);
      [this.#database, this.#why] = [database, undefined];
      log.info({ kind: database.kind }, 'history.opened');
      this.#keeping ??= setInterval(() => void this.#maintain(), KEEP_EVERY_MS);
    } catch (error) {
      // The message of such an AppError contains no password, since it never contains the URL.
      this.#why = error instanceof AppError ? error.message : 'it cannot be opened; see the log';
      log.error({ reason: messageOf(error) }, 'history.not_opened');
      await database?.close().catch(() => undefined);
      if (error instanceof AppError && error.code === 'older_format') throw error;
    }
  }

  async #openLater(): Promise<void> {
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, (ms) => sleep(ms, { ref: false }));
    while (!this.#database) {
      await retry.pause();
      if (this.#stopped) return;
      await this.#open().catch(this.options.onFatal);
    }
  }

  #reopenIfBroken(database: Database): void {
    if (database.broken === undefined || this.#database !== database) return;
    this.#why = 'it ended, and is being opened again';
    this.#database = undefined;
    const closed = database.close().catch(() => undefined);
    void closed.then(() => this.#openLater());
  }

  /**
   * The consumer groups belong to the database: a new database reads everything that the topics
   * still have.
   */
  async #consume(database: Database): Promise<void> {
    if (this.#consumptions.length > 0) return;
    const id = await databaseId(database);
    const consume = (
      name: string,
      topic: string,
      label: string,
      feed: BatchWriter<Event> | BatchWriter<ConfigFact>,
    ) =>
      this.options.kafka.consume({
        group: groupOf(name, id),
        label,
        topics: [topic],
        batchMs: 500,
        onFatal: this.options.onFatal,
        onRecord: (record) => this.#leaveToNewer(record) ?? feed.onRecord(record),
      });
    this.#consumptions = [
      await consume('history', ATTEMPTS, 'history', this.#feed),
      await consume('config', CONFIG, 'audit', this.#audit),
    ];
  }

  /** Leaves a record of a newer format and its successors in Kafka, and reports a trouble. */
  #leaveToNewer(record: OpenRecord): { againInMs: number } | undefined {
    const format = newerFormatOf(record.headers);
    if (format === undefined) return undefined;
    const { message } = newerFormat(record, format, 'this control process');
    if (this.#newer === undefined) {
      this.options.log.error({ reason: message }, 'history.newer_format');
    }
    this.#newer = message;
    return { againInMs: LONGEST_PAUSE_MS };
  }

  #resume(): void {
    for (const consumption of this.#consumptions) consumption.resume();
  }

  async #write(database: Database, events: readonly Event[]): Promise<void> {
    if (events.length === 0) {
      await database.query(`update waypost.meta set value = value where key = 'version'`);
      return;
    }
    await this.#deliveries.record(database, events);
    if (this.#deliveries.isMaintenanceDue) void this.#maintain();
  }

  async #maintain(): Promise<void> {
    await this.#writing((database) => this.#deliveries.maintain(database)).catch(
      (error: unknown) => {
        this.options.log.warn({ reason: messageOf(error) }, 'history.maintenance_failed');
      },
    );
  }

  /** Runs one write at a time, so that no event is written while its partition is dropped. */
  #writing(work: (database: Database) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      const database = this.#database;
      if (!database) throw new Error(this.#why);
      try {
        await work(database);
      } catch (error) {
        this.#reopenIfBroken(database);
        throw error;
      }
    });
  }
}

function groupOf(name: string, databaseId: string): string {
  return `control-${name}-${databaseId}`;
}

function unavailable(why: string): Problem {
  return new Problem(
    'unavailable',
    `The history is unavailable: ${why}. You can still change the configuration`,
    {
      headers: { 'Retry-After': '5' },
    },
  );
}
