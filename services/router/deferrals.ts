import { type ConfigReader } from '../../shared/config/types';
import { type OpenRecord } from '../../shared/kafka/port';
import {
  createDedupWindow,
  type DedupWindow,
  type MessageRef,
} from '../../shared/model/dedup-window';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type Log } from '../../shared/telemetry/log';
import { type Doubt } from './decide';

/**
 * Leaves messages in Kafka that the router can neither decide nor hold in memory: messages of a
 * source that it cannot read, or that is connected to a destination that it cannot read, and
 * messages beyond the bound while `config` is behind. Their offsets stay open, so that no record is
 * lost, and the partition continues with other sources. The router reads them again as soon as it
 * can decide them. A copy of a message that waits for `config` is deferred with it: routed first,
 * it would be delivered twice.
 */

const LOG_EVERY_MS = 60_000;
const MAX_LOGGED_SOURCES = 100;
/** Limit of messages whose copies are deferred, which take 20 MB. */
const MAX_BEHIND = 500_000;

interface Options {
  config: Pick<ConfigReader, 'source' | 'isUnreadable' | 'unreadableDestinationsOf' | 'onComplete'>;
  now: () => number;
  log: Log;
  onDecidable: () => void;
}

export class Deferrals {
  /** the sources of messages that wait for a readable record */
  readonly #unreadable = new Set<string>();
  /** the messages that wait for `config`, if there are any */
  #behind: DedupWindow | undefined;
  readonly #isLogged = logThrottle(LOG_EVERY_MS, MAX_LOGGED_SOURCES);

  /** @param hasRoom returns whether the router can hold messages in memory again */
  constructor(
    private readonly options: Options,
    private readonly hasRoom: () => boolean,
  ) {
    options.config.onComplete(() => this.#recheck());
  }

  /** @returns whether a message with the same id waits for `config` at a lower offset */
  hasEarlier(ref: MessageRef): boolean {
    return this.#behind?.isDuplicate(ref, this.options.now()) ?? false;
  }

  defer(
    { record, ref }: { record: OpenRecord; ref: MessageRef },
    sourceId: string,
    doubt: Doubt,
  ): void {
    if (doubt === 'config_behind') {
      this.#behind ??= createDedupWindow({ maxIds: MAX_BEHIND });
      this.#behind.remember(ref, this.options.now());
    } else {
      this.#unreadable.add(sourceId);
    }
    record.defer();
    if (this.#isLogged(sourceId)) {
      this.options.log.error({ source: sourceId, reason: doubt }, 'messages.deferred');
    }
  }

  #recheck(): void {
    if (!this.#isDecidable()) return;
    // The router defers again the messages that it still cannot decide.
    this.#behind = undefined;
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
