import { type MessageRef } from '../../shared/model/dedup-window';
import { type OpenRecord } from '../../shared/kafka/port';
import { CompactingMap } from '../../shared/service/compacting-map';

/**
 * Messages on their way to Kafka, and the copies of them that wait to hear whether they got there.
 *
 * Invariant: a copy waits only for a record at a lower offset of its own partition, which no commit passes meanwhile: if
 * the first is lost with this process, both are read again.
 */
export class InFlightMessages<Copy extends { record: OpenRecord }> {
  readonly #firsts = new CompactingMap<string, { offset: number; copies: Copy[] }>();
  #waiting = 0;

  /** copies that wait */
  get waiting(): number {
    return this.#waiting;
  }

  /** @returns whether it is a copy of what is on its way: then it waits */
  waits(met: MessageRef, copy: Copy): boolean {
    const first = this.#firsts.get(nameOf(met));
    if (!first || first.offset >= met.offset) return false;
    first.copies.push(copy);
    this.#waiting++;
    return true;
  }

  begin(met: MessageRef): void {
    const name = nameOf(met);
    // One that was read twice is on its way twice: its copies wait for the first reading.
    if (!this.#firsts.has(name)) this.#firsts.set(name, { offset: met.offset, copies: [] });
  }

  /** It got there, or never will. @returns the copies that have waited for it */
  end(met: MessageRef): Copy[] {
    const name = nameOf(met);
    const first = this.#firsts.get(name);
    if (first?.offset !== met.offset) return [];
    this.#firsts.delete(name);
    this.#waiting -= first.copies.length;
    return first.copies;
  }
}

function nameOf({ high, low, partition }: MessageRef): string {
  return `${high}.${low}.${partition}`;
}
