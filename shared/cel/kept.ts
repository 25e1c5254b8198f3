import { getHeapStatistics } from 'node:v8';
import { metrics } from '../telemetry/metrics';

/**
 * Keeps what was compiled for entries of `config`, as long as the entry lives and the memory
 * allows.
 *
 * All that a process keeps shares a part of its heap. If that is not enough, the largest go first:
 * a few large expressions take the room of thousands of small ones. What is not kept is compiled
 * anew for each use. That has a price, which its entry pays from its second use on, out of its own
 * work limit, so that it costs others no time.
 */

/** The rest is for the entries themselves, and for messages. */
const SHARE_OF_HEAP = 1 / 3;
/** The price of a compilation, by the memory that the result takes: a unit is some microseconds. */
const BYTES_PER_UNIT = 60;
/** Of a text that cannot be compiled: its explanation. */
const MISTAKE_BYTES = 1_000;

/** Why an entry that cannot pay its price is not used. */
export const NO_ROOM =
  'no memory is left to keep it compiled, and compiling it for one message exceeds the work limit';

const compiledAnew = metrics
  .counter({
    name: 'waypost.expressions.compiled_anew',
    help:
      'Filters and templates that were compiled again for one message, or refused because that ' +
      'exceeds their work limit: compiled ones fill a third of the heap.',
  })
  .of();

interface TakenRoom {
  bytes: number;
  /** takes the value away, if its entry still lives */
  leave(): void;
}

/** A size for each bit of a number of bytes: two of one size differ by less than twice. */
const SIZES = 54;

function sizeOf(bytes: number): number {
  return Math.floor(Math.log2(Math.max(1, bytes)));
}

export class Room {
  #left: number;
  readonly #takenBySize = Array.from({ length: SIZES }, () => new Set<TakenRoom>());
  readonly #onGone = new FinalizationRegistry<TakenRoom>((taken) => {
    this.#free(taken);
  });

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Returns whether `take` would find room. */
  has(bytes: number): boolean {
    return bytes <= this.#left || this.#largerThan(bytes) !== undefined;
  }

  /**
   * Takes room, if need be that of a larger value, until the entry is gone.
   * @param leave called when a smaller value takes the room; it must not refer to the entry
   * @returns whether there was room
   */
  take(entry: object, bytes: number, leave: () => void): boolean {
    if (bytes > this.#left) this.#evict(this.#largerThan(bytes));
    if (bytes > this.#left) return false;
    const taken = { bytes, leave };
    this.#takenBySize[sizeOf(bytes)]?.add(taken);
    this.#left -= bytes;
    this.#onGone.register(entry, taken, taken);
    return true;
  }

  #largerThan(bytes: number): TakenRoom | undefined {
    for (let size = this.#takenBySize.length - 1; size > sizeOf(bytes); size--) {
      const [taken] = this.#takenBySize[size] ?? [];
      if (taken) return taken;
    }
    return undefined;
  }

  #evict(taken: TakenRoom | undefined): void {
    if (!taken) return;
    this.#onGone.unregister(taken);
    this.#free(taken);
    taken.leave();
  }

  #free(taken: TakenRoom): void {
    this.#takenBySize[sizeOf(taken.bytes)]?.delete(taken);
    this.#left += taken.bytes;
  }
}

const ROOM = new Room(getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);

/** What is compiled for each entry, by its object, which is new for each version of the entry. */
export class Kept<E extends object, T extends { bytes: number } | { kind: 'mistake' }> {
  readonly #kept = new WeakMap<E, T>();
  /** the sizes of those that found no room, or lost it */
  readonly #unkept = new WeakMap<E, number>();

  /** @param room another one in tests */
  constructor(
    private readonly compile: (entry: E) => T,
    private readonly room = ROOM,
  ) {}

  /**
   * Returns the units of work that the entry pays for its next use: 0 if it is kept, will be, or
   * was never used.
   */
  priceOf(entry: E): number {
    const bytes = this.#unkept.get(entry);
    return bytes === undefined || this.room.has(bytes) ? 0 : bytes / BYTES_PER_UNIT;
  }

  /** Notes that an entry cannot pay. @returns why it is not used */
  refuse(): string {
    compiledAnew.value++;
    return NO_ROOM;
  }

  /** Returns what is kept for an entry; otherwise compiles it. */
  of(entry: E): T {
    const kept = this.#kept.get(entry);
    if (kept) return kept;
    const compiled = this.compile(entry);
    if (this.#unkept.has(entry)) compiledAnew.value++;
    const bytes = 'bytes' in compiled ? compiled.bytes : MISTAKE_BYTES;
    if (this.room.take(entry, bytes, this.#leaver(new WeakRef(entry), bytes))) {
      this.#kept.set(entry, compiled);
      this.#unkept.delete(entry);
    } else {
      this.#unkept.set(entry, bytes);
    }
    return compiled;
  }

  #leaver(ref: WeakRef<E>, bytes: number): () => void {
    return () => {
      const entry = ref.deref();
      if (!entry) return;
      this.#kept.delete(entry);
      this.#unkept.set(entry, bytes);
    };
  }
}
