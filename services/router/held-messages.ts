import { type MessageRef } from '../../shared/model/dedup-window';
import { nameOf } from './in-flight-messages';

/**
 * Tracks the messages that are held until `config` is known. A copy of one is held too, even if its
 * ingest knew less of `config`: routed first, it would be delivered twice, because only a message
 * at a lower offset makes a duplicate.
 */
export class HeldMessages<T extends { ref: MessageRef; bytes: number }> {
  readonly #all = new Set<T>();
  /** the lowest offset of each id */
  readonly #firsts = new Map<string, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  has(message: T): boolean {
    return this.#all.has(message);
  }

  /** @returns whether a message with the same id is held at a lower offset */
  hasEarlier({ ref }: T): boolean {
    if (this.#firsts.size === 0) return false;
    const offset = this.#firsts.get(nameOf(ref));
    return offset !== undefined && offset < ref.offset;
  }

  /** Call each time that a message could not be decided. */
  add(message: T): void {
    if (!this.#all.has(message)) this.#bytes += message.bytes;
    this.#all.add(message);
    const name = nameOf(message.ref);
    this.#firsts.set(name, Math.min(message.ref.offset, this.#firsts.get(name) ?? Infinity));
  }

  /** Call for each message that is not held any more, and may never have been. */
  end(message: T): void {
    if (!this.#all.delete(message)) return;
    this.#bytes -= message.bytes;
    const name = nameOf(message.ref);
    if (this.#firsts.get(name) === message.ref.offset) this.#firsts.delete(name);
  }
}
