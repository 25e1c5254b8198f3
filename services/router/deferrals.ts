import { type ConfigReader } from '../../shared/config/types';
import { type OpenRecord } from '../../shared/kafka/port';
import { logThrottle } from '../../shared/service/log-throttle';
import { type Log } from '../../shared/telemetry/log';

/**
 * Leaves messages in Kafka that the router can neither decide about nor hold in memory: those of a source whose last
 * record of `config` this process cannot read, and those beyond the bound while `config` is behind. Their offsets stay
 * open, so that no record is lost, and the partition goes on with other sources. They are read again as soon as they can
 * be decided.
 */

/** Why a message cannot be decided about. */
export type Doubt = 'source_unreadable' | 'config_behind';

const LOG_EVERY_MS = 60_000;
const MAX_LOGGED_SOURCES = 100;

interface Options {
  config: Pick<ConfigReader, 'isUnreadable' | 'onComplete'>;
  log: Log;
  onDecidable: () => void;
}

export class Deferrals {
  readonly #unreadable = new Set<string>();
  #behind = false;
  readonly #speaks = logThrottle(LOG_EVERY_MS, MAX_LOGGED_SOURCES, () => performance.now());

  /** @param hasRoom returns whether messages can be held again */
  constructor(
    private readonly options: Options,
    private readonly hasRoom: () => boolean,
  ) {
    options.config.onComplete(() => this.#look());
  }

  defer(record: OpenRecord, sourceId: string, doubt: Doubt): void {
    if (doubt === 'source_unreadable') this.#unreadable.add(sourceId);
    else this.#behind = true;
    record.defer();
    if (this.#speaks(sourceId)) this.options.log.error({ source: sourceId, reason: doubt }, 'messages.deferred');
  }

  #look(): void {
    if (!this.#isDecidable()) return;
    // What still cannot be decided is deferred once more.
    this.#behind = false;
    this.#unreadable.clear();
    this.options.onDecidable();
  }

  #isDecidable(): boolean {
    if (this.#behind && this.hasRoom()) return true;
    for (const id of this.#unreadable) if (!this.options.config.isUnreadable('source', id)) return true;
    return false;
  }
}
