import { type Response } from 'express';
import { AppError } from '../../../shared/service/errors';
import { type DebugEvent, type Entry, type EventFilter } from './buffer';

/**
 * Live readers of events, by Server-Sent Events. A reader is given what its connection takes and no more: while that is
 * full, events are left out and counted, so that who reads slowly costs one buffer and holds up nobody.
 */

const MAX_READERS = 100;
/** So that the streams of one token leave room for those of others. */
const MAX_READERS_OF_ONE = 20;
/** What waits for one reader. A burst fits in; with all readers stalled it is 50 MB. */
const MAX_WAITING_BYTES = 512 * 1024;
/** More than a person can read; a page that draws each of thousands a second stands still. */
const MAX_PER_SECOND = 200;
/** What a reader that comes back is given. */
const MAX_BACKLOG = 500;
const PING_MS = 15_000;
/** A connection that takes nothing for so long is nobody's any more. */
const STALLED_MS = 60_000;

/** Who reads. */
export interface ReaderOf {
  /** id of the token */
  token: string;
  /** asked every second, and when a token changes: a stream ends with its token, its session and its right */
  stillAllowed: () => boolean;
}

interface Reader extends ReaderOf {
  response: Response;
  filter: EventFilter;
  /**
   * What it missed and its connection has not taken yet. Weak: an event that left the ring is not held in memory for a slow
   * reader.
   */
  missed: WeakRef<Entry>[];
  skipped: number;
  thisSecond: number;
  /** since when its connection is full, ms since 1970 */
  fullSince: number | undefined;
}

export class EventStreams {
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
  open(response: Response, filter: EventFilter, first: readonly Entry[], of: ReaderOf): void {
    if (this.#readers.size >= MAX_READERS || this.#stopped) {
      throw new AppError('overloaded', 'Too many streams are open; try again shortly', true);
    }
    if ([...this.#readers].filter(({ token }) => token === of.token).length >= MAX_READERS_OF_ONE) {
      const detail = `This token has ${MAX_READERS_OF_ONE} open streams, which is the limit. Close one first`;
      throw new AppError('overloaded', detail, true);
    }
    // Proxies must not gather it.
    response.status(200).set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const missed = first.slice(-MAX_BACKLOG).map((entry) => new WeakRef(entry));
    const skipped = first.length - missed.length;
    const reader: Reader = { ...of, response, filter, missed, skipped, thisSecond: 0, fullSince: undefined };
    this.#readers.add(reader);
    response.on('close', () => this.#readers.delete(reader));
    response.on('drain', () => {
      reader.fullSince = undefined;
      this.#giveMissed(reader);
    });
    // How long a browser waits before it connects again.
    this.#send(reader, 'retry: 2000\n\n');
    this.#giveMissed(reader);
  }

  /** Ends the streams whose readers may no longer read. */
  recheck(): void {
    for (const reader of this.#readers) if (!reader.stillAllowed()) this.#end(reader);
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

  /** As much as the connection takes; `drain` goes on. */
  #giveMissed(reader: Reader): void {
    let given = 0;
    for (; given < reader.missed.length && reader.fullSince === undefined; given++) {
      const entry = reader.missed[given]?.deref();
      if (entry) this.#write(reader, entry);
      else reader.skipped++;
    }
    reader.missed.splice(0, given);
  }

  /** At once: what waits for the connection is not sent any more. */
  #end(reader: Reader): void {
    this.#readers.delete(reader);
    reader.response.destroy();
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
      else if (this.now() - reader.fullSince > STALLED_MS) this.#end(reader);
    }
  }

  #nextSecond(): void {
    for (const reader of this.#readers) reader.thisSecond = 0;
    this.recheck();
  }
}

function isFull({ fullSince, thisSecond }: Reader): boolean {
  return fullSince !== undefined || thisSecond >= MAX_PER_SECOND;
}
