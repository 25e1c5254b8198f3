import { CompactingMap } from '../../shared/collections/compacting-map';
import { type OpenRecord } from '../../shared/kafka/port';
import { type MessageRef } from '../../shared/model/dedup-window';

/**
 * Tracks messages whose output Kafka has not acknowledged yet, and the copies that wait for the
 * result.
 *
 * Invariant: a copy waits only for a record at a lower offset of the same partition. No commit
 * passes that record while it is open, so that both are read again if the process dies.
 */
export class InFlightMessages<Copy extends { record: OpenRecord; bytes: number }> {
  readonly #firsts = new CompactingMap<string, { offset: number; copies: Copy[] }>();
  #waitingBytes = 0;

  /** Size of the waiting copies. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** @returns whether a message in flight has the same id; the copy then waits for it */
  holdCopy(message: MessageRef, copy: Copy): boolean {
    const first = this.#firsts.get(nameOf(message));
    if (!first || first.offset >= message.offset) return false;
    first.copies.push(copy);
    this.#waitingBytes += copy.bytes;
    return true;
  }

  add(message: MessageRef): void {
    const name = nameOf(message);
    // If a record was read twice, its copies wait for the first reading.
    if (!this.#firsts.has(name)) this.#firsts.set(name, { offset: message.offset, copies: [] });
  }

  /** Ends a message, acknowledged or failed. @returns the copies that waited for it */
  end(message: MessageRef): Copy[] {
    const name = nameOf(message);
    const first = this.#firsts.get(name);
    if (first?.offset !== message.offset) return [];
    this.#firsts.delete(name);
    for (const { bytes } of first.copies) this.#waitingBytes -= bytes;
    return first.copies;
  }
}

/** Names a message and its copies within a partition. */
export function nameOf({ high, low, partition }: MessageRef): string {
  return `${high}.${low}.${partition}`;
}
