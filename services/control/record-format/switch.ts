import { type ConfigReader, type Entry } from '../../../shared/config/types';
import { type Kafka } from '../../../shared/kafka/port';
import { type RecordFormat, RECORD_FORMAT_ID } from '../../../shared/model/config';
import { FIRST_FORMAT, READS_FORMAT } from '../../../shared/model/record-format';
import { Periodic } from '../../../shared/service/async';
import { messageOf } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Actor, WAYPOST } from '../auth/identities';
import { type At, type ConfigEntries } from '../config/config-entries';
import { requireMatch } from '../http/entry-patch';
import {
  BY_DEFAULT,
  type Census,
  formatToSwitchOn,
  HOLD_MS,
  isPending,
  LOOK_EVERY_MS,
} from './decide';
import { newRecordFormat, takeCensus, type Watch, watchOn } from './decide';

/**
 * Switches a newer record format on once every process reads it. Every control process looks; the
 * version of the entry in `config` lets one of them write. Nothing is asked of Kafka once the
 * newest format is on.
 */

export interface SwitchOptions {
  kafka: Pick<Kafka, 'groupFormats'>;
  config: Pick<ConfigReader, 'list'>;
  entries: Pick<ConfigEntries, 'create' | 'change'>;
  now: () => Date;
  /** ms of a steady clock */
  steadyMs: () => number;
  log: Log;
}

export class RecordFormatSwitch {
  #watch: Watch | undefined;
  #trouble = false;
  readonly #looking = new Periodic(LOOK_EVERY_MS, () => this.#lookSafely());

  constructor(private readonly options: SwitchOptions) {}

  start(): void {
    this.#looking.start();
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Returns the entry, and what the processes report. @throws AppError `kafka_unavailable` */
  async view() {
    const census = await this.#census();
    const { data = BY_DEFAULT, version = 0 } = this.#entry() ?? {};
    return { ...this.#times(data, census), ...census, ...data, version, newest: READS_FORMAT };
  }

  /**
   * Switches newer formats off (all processes write the first one), or leaves them to this class
   * again.
   */
  async set(at: Omit<At, 'id'>, automatic: boolean): Promise<Entry<RecordFormat>> {
    return this.#change(at, (before) => ({
      automatic,
      format: automatic ? before.format : FIRST_FORMAT,
    }));
  }

  /** Looks once. @throws errors of Kafka, and of the write */
  async look(): Promise<void> {
    const entry = this.#entry()?.data ?? BY_DEFAULT;
    if (!isPending(entry)) {
      this.#watch = undefined;
      return;
    }
    const census = await this.#census();
    const nowMs = this.options.steadyMs();
    this.#watch = watchOn(this.#watch, census, nowMs);
    const format = formatToSwitchOn(entry, this.#watch, nowMs);
    if (format === undefined) return;
    // Another control process, or a person, may have changed the entry since.
    await this.#change({ by: WAYPOST, ifMatch: undefined }, (before) =>
      isPending(before) ? { format } : {},
    );
    this.options.log.info({ format }, 'record_format.switched_on');
  }

  async #lookSafely(): Promise<void> {
    try {
      await this.look();
      this.#trouble = false;
    } catch (error) {
      if (!this.#trouble) {
        this.options.log.warn({ reason: messageOf(error) }, 'record_format.not_checked');
      }
      this.#trouble = true;
    }
  }

  #entry(): Entry<RecordFormat> | undefined {
    return this.options.config.list('record_format')[0];
  }

  async #census(): Promise<Census> {
    const { config, kafka } = this.options;
    const groups = await kafka.groupFormats();
    return takeCensus(
      groups,
      config.list('audience').length + config.list('computed_trait').length > 0,
    );
  }

  /** Returns since when all processes read a newer format, and when it will be switched on. */
  #times(entry: Pick<RecordFormat, 'format' | 'automatic'>, { readable }: Census) {
    const watch = this.#watch;
    const counts =
      watch && isPending(entry) && watch.readable > entry.format && watch.readable === readable;
    if (!counts) return { readableSince: null, switchesAt: null };
    const sinceMs = this.options.now().getTime() - (this.options.steadyMs() - watch.sinceMs);
    const text = (ms: number) => new Date(ms).toISOString();
    return { readableSince: text(sinceMs), switchesAt: text(sinceMs + HOLD_MS) };
  }

  /** Creates the entry on the first change. */
  #change(
    { by, ifMatch }: { by: Actor; ifMatch: string | undefined },
    decide: (before: Pick<RecordFormat, 'format' | 'automatic'>) => Partial<RecordFormat>,
  ): Promise<Entry<RecordFormat>> {
    const { entries, now } = this.options;
    const at = now().toISOString();
    if (this.#entry()) {
      const change = (before: RecordFormat) => ({ ...before, ...decide(before), updatedAt: at });
      return entries.change('record_format', { id: RECORD_FORMAT_ID, ifMatch, by }, change);
    }
    requireMatch(ifMatch, 0);
    const made = newRecordFormat(at);
    return entries.create('record_format', by, () => ({
      ...made,
      ...BY_DEFAULT,
      ...decide(BY_DEFAULT),
    }));
  }
}
