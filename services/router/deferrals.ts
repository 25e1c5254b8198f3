import { type ConfigReader } from '../../shared/config/types';
import { type OpenRecord } from '../../shared/kafka/port';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type Log } from '../../shared/telemetry/log';
import { type Doubt } from './decide';

/**
 * Leaves messages in Kafka that the router can neither decide nor hold in memory: messages of a
 * source that it cannot read, or that is connected to a destination that it cannot read, and
 * messages beyond the bound while `config` is behind. Their offsets stay open, so that no record is
 * lost, and the partition continues with other sources. The router reads them again as soon as it
 * can decide them.
 */

const LOG_EVERY_MS = 60_000;
const MAX_LOGGED_SOURCES = 100;

interface Options {
  config: Pick<ConfigReader, 'source' | 'isUnreadable' | 'unreadableDestinationsOf' | 'onComplete'>;
  log: Log;
  onDecidable: () => void;
}

export class Deferrals {
  /** the sources of messages that wait for a readable record */
  readonly #unreadable = new Set<string>();
  #behind = false;
  readonly #isLogged = logThrottle(LOG_EVERY_MS, MAX_LOGGED_SOURCES);

  /** @param hasRoom returns whether the router can hold messages in memory again */
  constructor(
    private readonly options: Options,
    private readonly hasRoom: () => boolean,
  ) {
    options.config.onComplete(() => this.#recheck());
  }

  defer(record: OpenRecord, sourceId: string, doubt: Doubt): void {
    if (doubt === 'config_behind') this.#behind = true;
    else this.#unreadable.add(sourceId);
    record.defer();
    if (this.#isLogged(sourceId)) {
      this.options.log.error({ source: sourceId, reason: doubt }, 'messages.deferred');
    }
  }

  #recheck(): void {
    if (!this.#isDecidable()) return;
    // The router defers again the messages that it still cannot decide.
    this.#behind = false;
    this.#unreadable.clear();
    this.options.onDecidable();
  }

  #isDecidable(): boolean {
    if (this.#behind && this.hasRoom()) return true;
    const { config } = this.options;
    for (const id of this.#unreadable) {
      if (config.isUnreadable('source', id)) continue;
      // The router drops messages of a deleted or disabled source; its destinations do not matter.
      if (config.unreadableDestinationsOf(id).length === 0 || !config.source(id)?.data.enabled) {
        return true;
      }
    }
    return false;
  }
}
