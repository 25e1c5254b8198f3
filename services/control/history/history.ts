import { type Authenticator } from '../../../shared/config/authentication';
import { backoff, inTurn, sleep } from '../../../shared/runtime/async';
import { AppError, messageOf } from '../../../shared/runtime/errors';
import { Problem } from '../http/problem';
import { type Range } from '../../../shared/kafka/port';
import { ATTEMPTS, CONFIG } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { parseFacts, recordFacts, type ConfigFact } from './audit';
import { type Database, isAway, type Transaction } from './database';
import { type Deletion, Forgotten, recordDeletion } from './deletions';
import { hasReadTo } from '../reading/positions';
import { type Handler } from '../reading/reader';
import { type Event, parseEvents } from './parse-events';
import { type Retention } from './retention';
import { migrate } from './schema';
import { StoredDeliveries } from './stored-deliveries';

/**
 * Opens the database of control, says what its readers store of `attempts` and of `config`, and
 * serves the queries of the API. No delivery depends on it: while the database cannot be used,
 * control logs this, retries, and continues with everything else.
 */

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const KEEP_EVERY_MS = 60_000;
/** names the positions of the history */
const EVENTS = 'history';

export interface HistoryOptions {
  /** opens the database; called again after a failure */
  open: () => Promise<Database>;
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
  readonly forgotten = new Forgotten();
  /** This process may have written a deletion that `forgotten` has not read. */
  #isBehind = false;
  #keeping: NodeJS.Timeout | undefined;
  readonly #inTurn = inTurn();
  #stopped = false;
  readonly #deliveries: StoredDeliveries;
  readonly events: Handler<Event>;
  /** stores the audit trail and the versions of destinations */
  readonly audit: Handler<ConfigFact>;

  constructor(private readonly options: HistoryOptions) {
    const { now, log, keep, authenticator } = options;
    this.#deliveries = new StoredDeliveries({ now, log, keep, forgotten: this.forgotten });
    this.events = {
      name: EVENTS,
      topic: ATTEMPTS,
      sinceMs: () => 0,
      entriesOf: parseEvents,
      write: (transaction, events) => this.#write(transaction, events),
      transact: (work) => this.#writing((database) => database.transaction(work)),
    };
    this.audit = {
      name: 'audit',
      topic: CONFIG,
      sinceMs: () => 0,
      entriesOf: (record) => parseFacts(record, authenticator),
      write: async (transaction, facts) => {
        await recordFacts(transaction, facts);
        return undefined;
      },
    };
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

  /** Why the database cannot be used; undefined if it can. */
  get trouble(): string | undefined {
    return this.#why;
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
    const rows = await this.ask(({ kind, query, transaction }) =>
      recordDeletion(
        {
          kind,
          query,
          // Between them events are written: a deletion may last for minutes.
          transaction: (work) => this.#inTurn(() => transaction(work)),
        },
        deletion,
      ),
    ).finally(() => {
      this.#isBehind = true;
    });
    if (rows > 0) this.#deliveries.cleanUpSoon();
    await this.ask((database) => this.#refreshForgotten(database));
    return rows;
  }

  /**
   * Reads the deletions that other processes wrote, and those of this one that could not be read.
   * @throws Problem `unavailable`
   */
  async learnDeletions(): Promise<void> {
    await this.ask(async (database) => {
      // No other process writes to an embedded database.
      if (database.kind === 'server' || this.#isBehind) await this.#refreshForgotten(database);
    });
  }

  async #refreshForgotten(database: Database): Promise<void> {
    // Before it reads: a deletion that is written meanwhile asks for another time.
    this.#isBehind = false;
    try {
      await this.forgotten.refresh(database, this.options.now());
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }

  /**
   * Returns whether the database holds everything before these ends of `attempts`, whichever
   * process read it.
   * @throws Problem `unavailable`
   */
  hasRead(ends: readonly Range[]): Promise<boolean> {
    return this.ask((database) => hasReadTo(database, EVENTS, ends));
  }

  /** Stop the readers first. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#keeping);
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
      await this.#refreshForgotten(database);
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

  async #write(transaction: Transaction, events: readonly Event[]): Promise<() => void> {
    const committed = await this.#deliveries.record(transaction, events);
    return () => {
      committed();
      if (this.#deliveries.isMaintenanceDue) void this.#maintain();
    };
  }

  async #maintain(): Promise<void> {
    await this.#writing((database) => this.#deliveries.maintain(database)).catch(
      (error: unknown) => {
        this.options.log.warn({ reason: messageOf(error) }, 'history.maintenance_failed');
      },
    );
  }

  /** Runs one write at a time, so that no event is written while its partition is dropped. */
  #writing<T>(work: (database: Database) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const database = this.#database;
      if (!database) throw new Error(this.#why);
      try {
        return await work(database);
      } catch (error) {
        this.#reopenIfBroken(database);
        throw error;
      }
    });
  }
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
