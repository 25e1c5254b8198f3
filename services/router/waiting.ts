import { type MessageRef } from '../../shared/model/dedup-window';
import { type OpenRecord } from '../../shared/kafka/port';
import { CompactingMap } from '../../shared/collections/compacting-map';
import { type ConfigReader } from '../../shared/config/types';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type Log } from '../../shared/telemetry/log';
import { type Doubt } from './decide';

/**
 * Tracks messages whose output Kafka has not acknowledged yet, and the copies that wait for the
 * result.
 *
 * Invariant: a copy waits only for a record at a lower offset of the same partition. No commit
 * passes that record while it is open, so that both are read again if the process dies.
 */
export class InFlightMessages<Copy extends { record: OpenRecord }> {
  readonly #firsts = new CompactingMap<string, { offset: number; copies: Copy[] }>();
  #waiting = 0;

  /** Number of waiting copies. */
  get waiting(): number {
    return this.#waiting;
  }

  /** @returns whether a message in flight has the same id; the copy then waits for it */
  waits(message: MessageRef, copy: Copy): boolean {
    const first = this.#firsts.get(nameOf(message));
    if (!first || first.offset >= message.offset) return false;
    first.copies.push(copy);
    this.#waiting++;
    return true;
  }

  begin(message: MessageRef): void {
    const name = nameOf(message);
    // A record that was read twice is in flight twice: its copies wait for the first reading.
    if (!this.#firsts.has(name)) this.#firsts.set(name, { offset: message.offset, copies: [] });
  }

  /** Ends a message, acknowledged or failed. @returns the copies that waited for it */
  end(message: MessageRef): Copy[] {
    const name = nameOf(message);
    const first = this.#firsts.get(name);
    if (first?.offset !== message.offset) return [];
    this.#firsts.delete(name);
    this.#waiting -= first.copies.length;
    return first.copies;
  }
}

function nameOf({ high, low, partition }: MessageRef): string {
  return `${high}.${low}.${partition}`;
}

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
  readonly #speaks = logThrottle(LOG_EVERY_MS, MAX_LOGGED_SOURCES);

  /** @param hasRoom returns whether the router can hold messages in memory again */
  constructor(
    private readonly options: Options,
    private readonly hasRoom: () => boolean,
  ) {
    options.config.onComplete(() => this.#look());
  }

  defer(record: OpenRecord, sourceId: string, doubt: Doubt): void {
    if (doubt === 'config_behind') this.#behind = true;
    else this.#unreadable.add(sourceId);
    record.defer();
    if (this.#speaks(sourceId)) {
      this.options.log.error({ source: sourceId, reason: doubt }, 'messages.deferred');
    }
  }

  #look(): void {
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
