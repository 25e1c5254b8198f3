import { type ConfigView } from '../../../shared/config/view';
import { ALERTS_ID } from '../../../shared/domain/config';
import { messageOf } from '../../../shared/errors';
import { type Appender, type Kafka } from '../../../shared/kafka/port';
import { newTraceparent } from '../../../shared/telemetry/trace';
import { type Log } from '../../../shared/telemetry/log';
import { WAYPOST } from '../access/identities';
import { type Entries } from '../entries';
import {
  addNotices,
  dueNotices,
  endNotices,
  lockHealth,
  readPositions,
  saveHealth,
  settleAlerts,
  troubled,
} from '../history/alerts';
import { type Database, type Queries } from '../history/database';
import { type History } from '../history/history';
import { CaughtUp } from './caught-up';
import { type Context, decide, isNews } from './decide';
import { type Health } from './health';
import { type Notice } from './notice';
import { alertRecord, isAddressed } from './record';
import { settingsOf } from './settings';

/**
 * Looks every now and then at the destinations that are not well, and does what is decided about them.
 *
 * Invariants: a notice is in the database together with the state that says so, and its alert is due there until Kafka
 * has it: a process that is killed anywhere leaves to the next one just what is still to be done. A destination is
 * switched off only after it was written down that it would be, so that its notice follows, whoever writes it.
 */

/** Soon enough for people; a query of a few rows each time. */
const LOOK_EVERY_MS = 1_000;
const LOOK_IN_TROUBLE_MS = 5_000;
const MOST_AT_ONCE = 100;

export interface AlertsOptions {
  kafka: Pick<Kafka, 'ranges'>;
  appender: Pick<Appender, 'append'>;
  history: Pick<History, 'ask'>;
  config: Pick<ConfigView, 'destination'>;
  entries: Pick<Entries, 'change'>;
  windowMs: number;
  now: () => Date;
  log: Log;
}

export class Alerts {
  readonly #caughtUp: CaughtUp;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #trouble = false;
  #stopped = false;

  constructor(private readonly options: AlertsOptions) {
    this.#caughtUp = new CaughtUp(options.kafka, () => options.now().getTime());
  }

  start(): void {
    const again = () => {
      this.#looking = this.#lookSafely().finally(() => {
        if (!this.#stopped) this.#timer = setTimeout(again, this.#trouble ? LOOK_IN_TROUBLE_MS : LOOK_EVERY_MS);
      });
    };
    again();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** Decides once, and sends what is due. @throws whatever Kafka or the database throws; nothing is lost by it */
  async look(): Promise<void> {
    const { history } = this.options;
    const known = await history.ask(troubled);
    const news = [...known].filter(([id, health]) => isNews(health, decide(health, this.#context(id))));
    if (news.length === 0) this.#caughtUp.forget();
    else if (await this.#caughtUp.reached(() => history.ask(readPositions))) {
      await this.#conclude(news.map(([id]) => id));
    }
    await this.#send();
  }

  async #lookSafely(): Promise<void> {
    try {
      await this.look();
      this.#trouble = false;
    } catch (error) {
      // The history says by itself that it is away; what was not done is done when it is back.
      if (!this.#trouble) this.options.log.warn({ reason: messageOf(error) }, 'alerts.not_decided');
      this.#trouble = true;
    }
  }

  #context(id: string): Context {
    const { config, now } = this.options;
    const settings = settingsOf(config.destination(ALERTS_ID)?.data);
    return { id, destination: config.destination(id)?.data, settings, nowMs: now().getTime() };
  }

  /** Decided once more on what is known while it is held; then what is to be switched off is, and told of. */
  async #conclude(ids: readonly string[]): Promise<void> {
    const { switchOff } = await this.#decideAll(ids);
    const switched: string[] = [];
    for (const id of switchOff) if (await this.#switchOff(id)) switched.push(id);
    if (switched.length > 0) await this.#decideAll(switched);
  }

  async #decideAll(ids: readonly string[]): Promise<{ switchOff: string[] }> {
    const work = (queries: Queries) => this.#decideHeld(queries, ids);
    const { notices, switchOff } = await this.options.history.ask((database: Database) => database.transaction(work));
    for (const { id, destination, kind } of notices) {
      this.options.log.warn({ notice: id, destination, kind }, 'notice.raised');
    }
    return { switchOff };
  }

  async #decideHeld(queries: Queries, ids: readonly string[]): Promise<{ notices: Notice[]; switchOff: string[] }> {
    const decided = [...(await lockHealth(queries, ids))].map(
      ([id, health]) => [id, decide(health, this.#context(id))] as const,
    );
    const rows = decided.map(([id, { health }]): [string, Health] => [id, health]);
    const notices = decided.flatMap(([, decision]) => decision.notices);
    await saveHealth(queries, rows);
    await addNotices(queries, notices);
    await endNotices(
      queries,
      decided.flatMap(([, { ended }]) => ended),
    );
    return { notices, switchOff: decided.flatMap(([id, decision]) => (decision.switchOff ? [id] : [])) };
  }

  async #switchOff(id: string): Promise<boolean> {
    const { entries, log, now } = this.options;
    try {
      await entries.change('destination', { id, ifMatch: undefined, by: WAYPOST }, (before) => ({
        ...before,
        ...{ enabled: false, updatedAt: now().toISOString() },
      }));
      log.warn({ destination: id }, 'destination.switched_off');
      return true;
    } catch (error) {
      log.warn({ destination: id, reason: messageOf(error) }, 'destination.not_switched_off');
      return false;
    }
  }

  async #send(): Promise<void> {
    const { history, config, appender, windowMs, now } = this.options;
    const due = await history.ask((database) => dueNotices(database, MOST_AT_ONCE));
    if (due.length === 0) return;
    const to = config.destination(ALERTS_ID)?.data;
    if (isAddressed(to)) {
      const nowMs = now().getTime();
      await appender.append(
        due.map((notice) => alertRecord(notice, to, { nowMs, windowMs, traceparent: newTraceparent() })),
      );
    }
    const ids = due.map(({ id }) => id);
    await history.ask((database) => settleAlerts(database, ids, isAddressed(to) ? 'sent' : 'none'));
  }
}
