import { type Response } from 'express';
import { AppError } from '../../../shared/errors';
import { type DebugEvent, type Entry, type EventFilter } from './ring';

/**
 * Live readers of events, by Server-Sent Events. A reader is given what its connection takes and no more: while that is
 * full, events are left out and counted, so that who reads slowly costs one buffer and holds up nobody.
 */

const MAX_READERS = 100;
/** What waits for one reader. A burst fits in; with all readers stalled it is 50 MB. */
const MAX_WAITING_BYTES = 512 * 1024;
/** More than a person can read; a page that draws each of thousands a second stands still. */
const MAX_PER_SECOND = 200;
/** What a reader that comes back is given. */
const MAX_BACKLOG = 500;
const PING_MS = 15_000;
/** A connection that takes nothing for so long is nobody's any more. */
const STALLED_MS = 60_000;

interface Reader {
  response: Response;
  filter: EventFilter;
  skipped: number;
  thisSecond: number;
  /** since when its connection is full, ms since 1970 */
  fullSince: number | undefined;
}

export class Streams {
  readonly #readers = new Set<Reader>();
  readonly #timers: NodeJS.Timeout[];
  #stopped = false;

  /** @param show an event as readers are given it */
  constructor(
    private readonly now: () => number,
    private readonly show: (entry: Entry) => DebugEvent = (entry) => entry.view(),
  ) {
    this.#timers = [
      setInterval(() => this.#ping(), PING_MS).unref(),
      setInterval(() => this.#nextSecond(), 1_000).unref(),
    ];
  }

  get readers(): number {
    return this.#readers.size;
  }

  /**
   * Begins to answer with events: first those given, then each that comes.
   * @throws AppError `overloaded` where there are too many readers, or control is stopping
   */
  open(response: Response, filter: EventFilter, first: readonly Entry[]): void {
    if (this.#readers.size >= MAX_READERS || this.#stopped) {
      throw new AppError('overloaded', 'Too many streams are open; try again shortly', true);
    }
    // Proxies must not gather it.
    response.status(200).set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const reader: Reader = { response, filter, skipped: 0, thisSecond: 0, fullSince: undefined };
    this.#readers.add(reader);
    response.on('close', () => this.#readers.delete(reader));
    response.on('drain', () => (reader.fullSince = undefined));
    // How long a browser waits before it connects again.
    this.#send(reader, 'retry: 2000\n\n');
    reader.skipped = Math.max(0, first.length - MAX_BACKLOG);
    // Whatever the connection takes at once: it is what the reader missed.
    for (const entry of first.slice(-MAX_BACKLOG)) this.#write(reader, entry);
  }

  /** Gives an event to all who want it. */
  publish(entry: Entry): void {
    for (const reader of this.#readers) {
      if (isFull(reader)) this.#skip(reader, entry);
      else if (entry.matches(reader.filter)) this.#give(reader, entry);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const { response } of this.#readers) response.end();
  }

  /** The filter of a full reader is not asked for what it would have to parse: the count is of its source. */
  #skip(reader: Reader, { source }: Entry): void {
    if (reader.filter.source === undefined || reader.filter.source === source) reader.skipped++;
  }

  #give(reader: Reader, entry: Entry): void {
    reader.thisSecond++;
    this.#write(reader, entry);
  }

  #write(reader: Reader, entry: Entry): void {
    if (reader.skipped > 0) {
      const { skipped } = reader;
      reader.skipped = 0;
      this.#send(reader, `event: skipped\ndata: ${JSON.stringify({ count: skipped })}\n\n`);
    }
    this.#send(reader, `id: ${entry.id}\ndata: ${JSON.stringify(this.show(entry))}\n\n`);
  }

  #send(reader: Reader, text: string): void {
    const { response } = reader;
    response.write(text);
    if (response.writableLength > MAX_WAITING_BYTES) reader.fullSince ??= this.now();
  }

  #ping(): void {
    for (const reader of this.#readers) {
      if (reader.fullSince === undefined) this.#send(reader, ': here\n\n');
      else if (this.now() - reader.fullSince > STALLED_MS) reader.response.destroy();
    }
  }

  #nextSecond(): void {
    for (const reader of this.#readers) reader.thisSecond = 0;
  }
}

function isFull({ fullSince, thisSecond }: Reader): boolean {
  return fullSince !== undefined || thisSecond >= MAX_PER_SECOND;
}
