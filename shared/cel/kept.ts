import { getHeapStatistics } from 'node:v8';

/**
 * Keeps what was compiled for entries of `config`, as long as the entry lives and the memory allows.
 *
 * All that a process keeps shares a part of its heap. A value is kept if it takes no more than a
 * small part of the room that is left, so that many large ones leave room for small ones. A value
 * that is not kept is compiled again for each use: that takes time, and no memory.
 */

/** The rest is for the entries themselves, and for messages. */
const SHARE_OF_HEAP = 1 / 3;
/** In the chart's heap for a router, the largest expression fits a few times. */
const SHARE_OF_ROOM = 1 / 32;

/** Room for values, each of which returns its part when it is collected. */
export class Room {
  #left: number;
  readonly #returned = new FinalizationRegistry<number>((bytes) => {
    this.#left += bytes;
  });

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** @returns whether there was room */
  take(value: object, bytes: number): boolean {
    if (bytes > this.#left * SHARE_OF_ROOM) return false;
    this.#left -= bytes;
    this.#returned.register(value, bytes);
    return true;
  }
}

const ROOM = new Room(getHeapStatistics().heap_size_limit * SHARE_OF_HEAP);
/** Of a text that cannot be compiled: its explanation. */
const MISTAKE_BYTES = 1_000;

/** What is compiled for each entry, by its object, which is new for each version of the entry. */
export class Kept<E extends object, T extends { bytes: number } | { kind: 'mistake' }> {
  readonly #kept = new WeakMap<E, T>();

  /** @param room another one in tests */
  constructor(
    private readonly compile: (entry: E) => T,
    private readonly room = ROOM,
  ) {}

  /** Returns what is kept for an entry; otherwise compiles it. */
  of(entry: E): T {
    const kept = this.#kept.get(entry);
    if (kept) return kept;
    const compiled = this.compile(entry);
    const bytes = 'bytes' in compiled ? compiled.bytes : MISTAKE_BYTES;
    if (this.room.take(compiled, bytes)) this.#kept.set(entry, compiled);
    return compiled;
  }
}
