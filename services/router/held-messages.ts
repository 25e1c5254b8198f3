import { type MessageRef } from '../../shared/model/dedup-window';
import { nameOf } from './in-flight-messages';

/**
 * Tracks the messages that are held until `config` is known, by id. A copy of one is held too, even
 * if its ingest knew less of `config`: routed first, it would be delivered twice, because only a
 * message at a lower offset makes a duplicate.
 */
export class HeldMessages {
  /** the lowest offset of each id */
  readonly #firsts = new Map<string, number>();

  /** @returns whether a message with the same id is held at a lower offset */
  hasEarlier(message: MessageRef): boolean {
    if (this.#firsts.size === 0) return false;
    const offset = this.#firsts.get(nameOf(message));
    return offset !== undefined && offset < message.offset;
  }

  add(message: MessageRef): void {
    const name = nameOf(message);
    this.#firsts.set(name, Math.min(message.offset, this.#firsts.get(name) ?? Infinity));
  }

  /** Call for each message that is not held any more, and may never have been. */
  end(message: MessageRef): void {
    if (this.#firsts.size === 0) return;
    const name = nameOf(message);
    if (this.#firsts.get(name) === message.offset) this.#firsts.delete(name);
  }
}
