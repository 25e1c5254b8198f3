import { randomUUID } from 'node:crypto';
import { type ConfigView } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { ALERTS_ID } from '../../../shared/model/config';
import { sleep } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { newTraceparent } from '../../../shared/telemetry/trace';
import { type Log } from '../../../shared/telemetry/log';
import { WAYPOST } from '../auth/identities';
import { type ConfigEntries } from '../config/config-entries';
import { lockHealth, saveHealth, troubled } from '../health/store';
import { OpenNotices } from './open-notices';
import { addNotices, dueNotices, endNotices, makeDue, settleAlerts } from './store';
import { type Database, type Queries } from '../history/database';
import { type History } from '../history/history';
import { countDead, countPartly, openOf } from '../history/queries';
import { dropLease, takeLease } from '../history/leases';
import { channelsOf } from './channels';
import { type Context, decide, type Decision, isNews } from './decide';
import { writeDisabledUrls } from './disabled-urls';
import { type Health } from '../health/destination-health';
import { LastingWatch } from './lasting-watch';
import { type Notice, alertRecord, isAddressed } from './notice';
import { type Reader } from '../reading/reader';
import { settingsOf } from './settings';

/**
 * Evaluates the destinations that are not well by the evidence of `attempts` (evidence.ts), and
 * acts on the decisions. A lease lets one control process do so at a time.
 *
 * Invariants: a decision as of a moment is made only after the readers of all processes have read
 * everything that `attempts` contained at that moment. A notice is stored together with the health that caused it,
 * and its alert stays due until Kafka has it: if a process is killed anywhere, the next one does
 * just the rest. A destination is switched off only after that intention was stored, so that its
 * notice follows, whichever process writes it.
 */

const LEASE = 'alerts';
/** Alerts pause for this long when the process that decides is killed. */
const LEASE_MS = 12_000;
const RENEW_AFTER_MS = 3_000;
/** Evidence that took longer to read is too old to act on: the runner reads again. */
const FRESH_MS = 10_000;
/**
 * Soon enough for people. Each time it runs a query of a few rows, and one for the ends of
 * `attempts`.
 */
const POLL_EVERY_MS = 2_000;
const POLL_IN_TROUBLE_MS = 5_000;
/** While no destination is in trouble, and this process reads all evidence of one. */
const POLL_QUIET_MS = 10_000;
/** Pause between two looks at how far the other processes have read. */
const OTHERS_READ_MS = 250;
const MOST_AT_ONCE = 100;

export interface AlertsOptions {
  kafka: Pick<Kafka, 'ranges'>;
  /** writes the evidence */
  reader: Pick<Reader<unknown>, 'poll' | 'hasRead'>;
  /** Returns whether other processes read a part of `attempts`. */
  isShared: () => boolean;
  producer: Pick<BatchProducer, 'send'>;
  history: Pick<History, 'ask' | 'hasRead'>;
  config: Pick<ConfigView, 'destination' | 'list'>;
  /** Returns the number of users whose profiles are full; undefined: not known yet. */
  fullProfiles: () => number | undefined;
  entries: Pick<ConfigEntries, 'change'>;
  encryptor: Encryptor;
  windowMs: number;
  now: () => Date;
  log: Log;
}

export class Alerts {
  readonly #lasting: LastingWatch;
  readonly #open: OpenNotices;
  readonly #owner = randomUUID();
  #leasedAt = -Infinity;
  /** when this process last decided, or last saw that another process holds the lease */
  #soundAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #trouble = false;
  /** nothing is to be decided until there is other evidence */
  #isQuiet = false;
  #stopped = false;

  constructor(private readonly options: AlertsOptions) {
    this.#lasting = new LastingWatch(options);
    this.#open = new OpenNotices(options);
  }

  /** Seconds since the last decision, for which `attempts` was read to its end in time. */
  get behindSeconds(): number {
    return (performance.now() - this.#soundAt) / 1_000;
  }

  start(): void {
    this.#polling = this.#pollSafely().finally(() => {
      this.#polling = undefined;
      if (this.#trouble) this.#pollIn(POLL_IN_TROUBLE_MS);
      else this.#pollIn(this.#isQuiet ? POLL_QUIET_MS : POLL_EVERY_MS);
    });
  }

  /** Decides soon: there is new evidence of trouble. */
  wake(): void {
    if (!this.#isQuiet) return;
    this.#isQuiet = false;
    if (this.#timer && !this.#polling) this.#pollIn(POLL_EVERY_MS);
  }

  #pollIn(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => this.start(), ms);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#polling;
    const { history } = this.options;
    await history.ask((database) => dropLease(database, LEASE, this.#owner)).catch(() => undefined);
  }

  /**
   * Decides once, and sends due alerts. @throws an error of Kafka or the database; nothing is lost
   */
  async poll(): Promise<void> {
    if (!(await this.#leads())) return;
    const [at, askedAt] = [this.options.now(), performance.now()];
    this.#isQuiet = !this.options.isShared();
    if (await this.#readToEnds(askedAt)) {
      if ((await this.#decideAt(at)) > 0) this.#isQuiet = false;
      await writeDisabledUrls(this.options);
      await this.#lasting.poll(at);
      if (await this.#isHistoryRead()) await this.#open.poll(at);
      this.#soundAt = askedAt;
    }
    await this.#send();
  }

  /** @returns whether everything that `attempts` contains now was read in time */
  async #readToEnds(askedAt: number): Promise<boolean> {
    const { kafka, reader, isShared } = this.options;
    const isFresh = () => performance.now() - askedAt < FRESH_MS;
    const ends = await kafka.ranges(ATTEMPTS);
    await reader.poll();
    let isRead = await reader.hasRead(ends);
    while (!isRead && isShared() && isFresh() && !this.#stopped) {
      await sleep(OTHERS_READ_MS);
      isRead = await reader.hasRead(ends);
    }
    return isRead && isFresh() && (await this.#leads());
  }

  async #leads(): Promise<boolean> {
    const askedAt = performance.now();
    if (this.#stopped || askedAt - this.#leasedAt < RENEW_AFTER_MS) return !this.#stopped;
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    const leads = await this.options.history.ask((database) => takeLease(database, LEASE, lease));
    this.#leasedAt = leads ? askedAt : -Infinity;
    if (!leads) this.#soundAt = askedAt;
    return leads;
  }

  /**
   * @param at the time up to which the evidence is complete
   * @returns the number of destinations that may need a decision
   */
  async #decideAt(at: Date): Promise<number> {
    const known = await this.options.history.ask(troubled);
    const news = [...known].filter(([id, health]) =>
      isNews(health, decide(health, this.#context(id, at))),
    );
    const ids = news.map(([id]) => id);
    if (ids.length > 0) await this.#conclude(ids, at);
    return known.size;
  }

  async #pollSafely(): Promise<void> {
    try {
      await this.poll();
      this.#trouble = false;
    } catch (error) {
      // The history itself reports that it is away; the next successful look catches up.
      if (!this.#trouble) this.options.log.warn({ reason: messageOf(error) }, 'alerts.not_decided');
      this.#trouble = true;
    }
  }

  #context(id: string, at: Date): Context {
    const { config } = this.options;
    const settings = settingsOf(config.destination(ALERTS_ID)?.data);
    return { id, destination: config.destination(id)?.data, settings, nowMs: at.getTime() };
  }

  /**
   * Decides again with the rows locked, then switches destinations off and stores their notices.
   */
  async #conclude(ids: readonly string[], at: Date): Promise<void> {
    const { switchOff } = await this.#decideAll(ids, at);
    const switched: string[] = [];
    for (const id of switchOff) if (await this.#switchOff(id)) switched.push(id);
    if (switched.length > 0) await this.#decideAll(switched, at);
  }

  async #decideAll(ids: readonly string[], at: Date): Promise<{ switchOff: string[] }> {
    const isRead = await this.#isHistoryRead();
    const work = (queries: Queries) => this.#decideHeld(queries, ids, { at, isRead });
    const { notices, switchOff } = await this.options.history.ask((database: Database) =>
      database.transaction(work),
    );
    for (const { id, destination, kind } of notices) {
      this.options.log.warn({ notice: id, destination, kind }, 'notice.raised');
    }
    return { switchOff };
  }

  async #decideHeld(
    queries: Queries,
    ids: readonly string[],
    { at, isRead }: { at: Date; isRead: boolean },
  ): Promise<{ notices: Notice[]; switchOff: string[] }> {
    const decided: [string, Decision][] = [];
    for (const [id, health] of await lockHealth(queries, ids)) {
      const stillDead =
        health.dead && isRead ? await countDead(queries, id, health.dead.since) : undefined;
      const stillPartly =
        health.partly && isRead ? await countPartly(queries, id, health.partly.since) : undefined;
      const waiting = health.blocked && isRead ? (await openOf(queries, id)).count : undefined;
      decided.push([
        id,
        decide(health, { ...this.#context(id, at), waiting, stillDead, stillPartly }),
      ]);
    }
    const rows = decided.map(([id, { health }]): [string, Health] => [id, health]);
    const notices = decided.flatMap(([, decision]) => decision.notices);
    await saveHealth(queries, rows);
    await addNotices(queries, notices);
    await endNotices(
      queries,
      decided.flatMap(([, { ended }]) => ended),
    );
    await makeDue(
      queries,
      decided.flatMap(([, { due }]) => due),
    );
    return {
      notices,
      switchOff: decided.flatMap(([id, decision]) => (decision.switchOff ? [id] : [])),
    };
  }

  /** Without the whole history, every dead letter counts. */
  async #isHistoryRead(): Promise<boolean> {
    const { history, kafka } = this.options;
    return history.hasRead(await kafka.ranges(ATTEMPTS)).catch(() => false);
  }

  async #switchOff(id: string): Promise<boolean> {
    const { entries, log, now } = this.options;
    try {
      await entries.change('destination', { id, ifMatch: undefined, by: WAYPOST }, (before) => ({
        ...before,
        enabled: false,
        updatedAt: now().toISOString(),
      }));
      log.warn({ destination: id }, 'destination.switched_off');
      return true;
    } catch (error) {
      log.warn({ destination: id, reason: messageOf(error) }, 'destination.not_switched_off');
      return false;
    }
  }

  async #send(): Promise<void> {
    const { history, config, producer, encryptor, windowMs, now } = this.options;
    const due = await history.ask((database) => dueNotices(database, MOST_AT_ONCE));
    if (due.length === 0) return;
    const to = config.destination(ALERTS_ID)?.data;
    if (isAddressed(to)) {
      const nowMs = now().getTime();
      const channels = channelsOf(to, encryptor);
      await producer.send(
        due.flatMap((notice) =>
          channels.flatMap(({ name, closed, body, holdsOpen }, i) => {
            if (notice.closed && !holdsOpen) return [];
            const made = {
              nowMs,
              windowMs,
              closed,
              body: body(notice),
              traceparent: newTraceparent(),
            };
            return [alertRecord(notice, to, { ...made, channel: i === 0 ? undefined : name })];
          }),
        ),
      );
    }
    const ids = due.map(({ id }) => id);
    await history.ask((database) => settleAlerts(database, ids, isAddressed(to) ? 'sent' : 'none'));
  }
}
