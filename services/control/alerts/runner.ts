import { randomUUID } from 'node:crypto';
import { type ConfigReader } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { ALERTS_ID } from '../../../shared/model/config';
import { sleep } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { sendEach } from '../../../shared/kafka/send-each';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { newTraceparent } from '../../../shared/telemetry/trace';
import { type Log } from '../../../shared/telemetry/log';
import { WAYPOST } from '../auth/identities';
import { type ConfigEntries } from '../config/config-entries';
import { lockHealth, readFacts, saveHealth, troubled } from '../health/store';
import { overNow } from './open-notices';
import { dueNotices, knownNotices, settleAlerts, storeDecision } from './store';
import { type Database, type Queries, type Transaction } from '../history/database';
import { type History } from '../history/history';
import { deadOf, openOf, partlyOf } from '../history/queries';
import { dropLease, takeLease } from '../history/leases';
import { etag } from '../http/entry-patch';
import { channelsOf } from './channels';
import { decide, type Decision, onlyAbout } from './decide';
import { writeDisabledUrls } from './disabled-urls';
import { type Health } from '../health/destination-health';
import { alertRecord, isAddressed } from './notice';
import { type Reader } from '../reading/reader';
import { settingsOf } from './settings';
import { COUNTED_KINDS, type Counts, EXPIRES_SOON_MS, type World } from './troubles';

/**
 * Decides what is wrong by the evidence of `attempts` (evidence-reader.ts) and by the settings, and
 * acts on it. A lease lets one control process do so at a time.
 *
 * Invariants: a decision as of a moment is made only after the readers of all processes have read
 * everything that `attempts` contained at that moment, and is stored and acted on a moment later or
 * not at all: a process may stand still anywhere. A notice is stored together with the health that
 * caused it, and its alert stays due until Kafka has it: if a process is killed anywhere, the next
 * one does just the rest. A destination is switched off only after that intention was stored, so
 * that its notice follows, whichever process writes it.
 */

const LEASE = 'alerts';
/** Alerts pause for this long when the process that decides is killed. */
const LEASE_MS = 12_000;
const RENEW_AFTER_MS = 3_000;
/**
 * Evidence that was asked for longer ago is too old to act on, and so is the lease, which another
 * process may have soon: the runner asks again.
 */
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
/** Where nothing is left, the query reads all deliveries of the destination. */
const COUNT_EVERY_MS = 10_000;

export interface AlertsOptions {
  kafka: Pick<Kafka, 'ranges'>;
  /** writes the evidence */
  reader: Pick<Reader<unknown>, 'poll' | 'hasRead'>;
  /** Returns whether other processes read a part of `attempts`. */
  isShared: () => boolean;
  producer: Pick<BatchProducer, 'send'>;
  history: Pick<History, 'ask' | 'hasRead'>;
  config: Pick<ConfigReader, 'destination' | 'list' | 'refresh'>;
  /** Returns the number of users whose profiles are full; undefined: not known yet. */
  fullProfiles: () => number | undefined;
  entries: Pick<ConfigEntries, 'change'>;
  encryptor: Encryptor;
  windowMs: number;
  now: () => Date;
  /** ms by a monotonic clock, which must go on while the process is stopped */
  steadyMs: () => number;
  log: Log;
}

/** A destination to switch off, as it was when that was decided. */
interface SwitchOff {
  id: string;
  version: number;
}

interface Concluded extends Pick<Decision, 'raised'> {
  switchOff: readonly SwitchOff[];
}

/** The moment of a decision. */
interface Moment {
  /** the time up to which the evidence is complete */
  at: Date;
  /** Returns whether the evidence is recent: this process may have stood still since. */
  isFresh: () => boolean;
}

export class Alerts {
  readonly #owner = randomUUID();
  #leasedAt = -Infinity;
  /** when this process last decided, or last saw that another process holds the lease */
  #soundAt: number;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #trouble = false;
  /** nothing is to be decided until there is other evidence */
  #isQuiet = false;
  #stopped = false;
  /** when it was last asked what is left of open notices, ms since 1970 */
  #countedAt = -Infinity;

  constructor(private readonly options: AlertsOptions) {
    this.#soundAt = options.steadyMs();
  }

  /** Seconds since the last decision, for which `attempts` was read to its end in time. */
  get behindSeconds(): number {
    return (this.options.steadyMs() - this.#soundAt) / 1_000;
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
    const { now, steadyMs } = this.options;
    const askedAt = steadyMs();
    const moment = { at: now(), isFresh: () => steadyMs() - askedAt < FRESH_MS };
    this.#isQuiet = !this.options.isShared();
    const isComplete = await this.#readToEnds(moment);
    if (!(await this.#leads())) return;
    // What delivery has said of a URL holds whatever else is unread.
    await writeDisabledUrls(this.options);
    if (isComplete) {
      if ((await this.#decideAt(moment)) > 0) this.#isQuiet = false;
      // What is stored too late is not stored: then nothing was decided.
      if (moment.isFresh()) this.#soundAt = askedAt;
    }
    await this.#send();
  }

  /** @returns whether everything that `attempts` contains now was read in time */
  async #readToEnds({ isFresh }: Moment): Promise<boolean> {
    const { kafka, reader, isShared } = this.options;
    const ends = await kafka.ranges(ATTEMPTS);
    await reader.poll();
    let isRead = await reader.hasRead(ends);
    while (!isRead && isShared() && isFresh() && !this.#stopped) {
      await sleep(OTHERS_READ_MS);
      isRead = await reader.hasRead(ends);
    }
    return isRead && isFresh();
  }

  async #leads(): Promise<boolean> {
    const askedAt = this.options.steadyMs();
    if (this.#stopped || askedAt - this.#leasedAt < RENEW_AFTER_MS) return !this.#stopped;
    const leads = await this.options.history.ask((database) => this.#takeLease(database));
    this.#leasedAt = leads ? askedAt : -Infinity;
    if (!leads) this.#soundAt = askedAt;
    return leads;
  }

  #takeLease(queries: Queries): Promise<boolean> {
    return takeLease(queries, LEASE, { owner: this.#owner, forMs: LEASE_MS });
  }

  /** @returns the number of destinations with trouble */
  async #decideAt(moment: Moment): Promise<number> {
    const { history, log } = this.options;
    const isHistoryRead = await this.#isHistoryRead();
    const seen = await history.ask(async (database) => {
      const world = await this.#worldAt(database, await troubled(database), moment.at);
      return isHistoryRead ? { ...world, over: await this.#overOf(database, world) } : world;
    });
    const { destinationIds } = decide(seen);
    if (destinationIds.length === 0) return seen.health.size;
    const { raised, switchOff } = await history.ask((database) =>
      database.transaction((queries) =>
        this.#conclude(queries, destinationIds, { ...moment, over: seen.over, isHistoryRead }),
      ),
    );
    for (const { id, destination, kind } of raised) {
      log.warn({ notice: id, destination, kind }, 'notice.raised');
    }
    let isSwitchedOff = false;
    for (const each of switchOff) {
      if (await this.#switchOff(each, moment)) isSwitchedOff = true;
    }
    // The notice of it follows.
    if (isSwitchedOff) await this.#decideAt(moment);
    return seen.health.size;
  }

  async #worldAt(queries: Queries, health: ReadonlyMap<string, Health>, at: Date): Promise<World> {
    const { config, fullProfiles } = this.options;
    const [nowMs, settings] = [at.getTime(), settingsOf(config.destination(ALERTS_ID)?.data)];
    const sinceMs = nowMs - settings.deadLettersEveryMs;
    return {
      nowMs,
      settings,
      health,
      fullProfiles: fullProfiles(),
      facts: await readFacts(queries, ['certificate', 'filter'], new Date(nowMs + EXPIRES_SOON_MS)),
      notices: await knownNotices(queries, { kinds: COUNTED_KINDS, sinceMs }),
      destinations: {
        get: (id) => config.destination(id)?.data,
        all: () => config.list('destination').map(({ data }) => data),
      },
      counts: undefined,
      over: undefined,
    };
  }

  /** Returns the notices that nothing is left of; undefined: it was asked a moment ago. */
  async #overOf(database: Database, { notices, nowMs }: World): Promise<World['over']> {
    // A clock that is set back must not stop it.
    if (Math.abs(nowMs - this.#countedAt) < COUNT_EVERY_MS) return undefined;
    this.#countedAt = nowMs;
    const counted: readonly string[] = COUNTED_KINDS;
    const open = notices.filter(({ kind, endedAt }) => endedAt === null && counted.includes(kind));
    return open.length === 0 ? undefined : overNow(database, open);
  }

  /**
   * Decides again with the lease and the rows of these destinations locked, and stores the
   * decision. This process may have been frozen since it looked, and another one have decided the
   * same: what decisions change is read again here. What the evidence says of a moment long ago is
   * not decided: the trouble may be over.
   */
  async #conclude(
    queries: Transaction,
    ids: readonly string[],
    { at, isFresh, over, isHistoryRead }: Moment & { over: World['over']; isHistoryRead: boolean },
  ): Promise<Concluded> {
    if (!(await this.#takeLease(queries))) return { raised: [], switchOff: [] };
    const health = await lockHealth(queries, ids);
    const counts = isHistoryRead ? await countsOf(queries, health) : undefined;
    const world = await this.#worldAt(queries, health, at);
    const decision = decide({ ...onlyAbout(ids, world), counts, over });
    if (!isFresh()) return { raised: [], switchOff: [] };
    const switchOff = decision.switchOff.flatMap((id): SwitchOff | [] => {
      const entry = this.options.config.destination(id);
      return entry ? { id, version: entry.version } : [];
    });
    await saveHealth(queries, [...decision.health]);
    await storeDecision(queries, decision);
    return { raised: decision.raised, switchOff };
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

  /** Without the whole history, every dead letter counts. */
  async #isHistoryRead(): Promise<boolean> {
    const { history, kafka } = this.options;
    return history.hasRead(await kafka.ranges(ATTEMPTS)).catch(() => false);
  }

  /** Leaves to the next decision what was decided long ago, or changed by somebody since. */
  async #switchOff({ id, version }: SwitchOff, { isFresh }: Moment): Promise<boolean> {
    const { entries, log, now } = this.options;
    try {
      await entries.change('destination', { id, ifMatch: etag(version), by: WAYPOST }, (before) => {
        if (!isFresh()) throw new Error('the decision is too old');
        return {
          ...before,
          enabled: false,
          switchedOff: true,
          updatedAt: now().toISOString(),
        };
      });
      log.warn({ destination: id }, 'destination.switched_off');
      return true;
    } catch (error) {
      log.warn({ destination: id, reason: messageOf(error) }, 'destination.not_switched_off');
      return false;
    }
  }

  async #send(): Promise<void> {
    const { history, config, producer, encryptor, windowMs, now, steadyMs, log } = this.options;
    if (!(await this.#leads())) return;
    const due = await history.ask((database) => dueNotices(database, MOST_AT_ONCE));
    if (due.length === 0) return;
    // Another process may have sent them meanwhile, and that the trouble is over.
    if (steadyMs() - this.#leasedAt >= FRESH_MS) return;
    const to = config.destination(ALERTS_ID)?.data;
    if (!isAddressed(to)) {
      await history.ask((database) => settleAlerts(database, due, 'none'));
      return;
    }
    const nowMs = now().getTime();
    const channels = channelsOf(to, encryptor);
    const alerts = due.flatMap((notice) =>
      channels.flatMap(({ name, excludedUrls, body, holdsOpen }, i) => {
        if (notice.closed && !holdsOpen) return [];
        const made = {
          nowMs,
          windowMs,
          excludedUrls,
          body: body(notice),
          traceparent: newTraceparent(),
        };
        const channel = i === 0 ? undefined : name;
        return [{ notice, record: alertRecord(notice, to, { ...made, channel }) }];
      }),
    );
    const refused = await sendEach(
      producer,
      alerts.map(({ record }) => record),
    );
    // A refused alert is given up: tried again, it would hold up all later ones.
    for (const [i, error] of refused) {
      const notice = alerts[i]?.notice.id;
      log.error({ notice, reason: messageOf(error) }, 'alert.refused');
    }
    const sent = new Set(alerts.filter((_, i) => !refused.has(i)).map(({ notice }) => notice));
    const lost = new Set(alerts.map(({ notice }) => notice).filter((notice) => !sent.has(notice)));
    const settled = due.filter((notice) => !lost.has(notice));
    await history.ask((database) => settleAlerts(database, settled, 'sent'));
    if (lost.size > 0) await history.ask((database) => settleAlerts(database, [...lost], 'none'));
  }
}

async function countsOf(
  queries: Queries,
  known: ReadonlyMap<string, Health>,
): Promise<Map<string, Counts>> {
  const counts = new Map<string, Counts>();
  for (const [id, { blocked, dead, partly }] of known) {
    counts.set(id, {
      waiting: blocked ? (await openOf(queries, id)).count : Infinity,
      stillDead: dead ? (await deadOf(queries, id, dead.since)).count : 0,
      stillPartly: partly ? (await partlyOf(queries, id, partly.since)).count : 0,
    });
  }
  return counts;
}
