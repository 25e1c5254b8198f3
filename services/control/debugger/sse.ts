import { stringifyJson } from '../../../shared/json/json';
import { type Response } from 'express';
import { AppError } from '../../../shared/service/errors';
import { type DebugEvent, type Entry, type EventFilter } from './buffer';

/**
 * Streams events to readers by Server-Sent Events. While a reader's connection is full, events are
 * left out and counted, so that a slow reader costs one buffer and delays no other reader.
 */

const MAX_READERS = 100;
/** Leaves room for the streams of other tokens. */
const MAX_READERS_OF_ONE = 20;
/** Most bytes that wait for one reader. A burst fits in; with all readers stalled it is 50 MB. */
const MAX_WAITING_BYTES = 512 * 1024;
/** More than a person can read. A page that draws thousands a second freezes. */
const MAX_PER_SECOND = 200;
/** Most missed events that a returning reader gets. */
const MAX_BACKLOG = 500;
const PING_MS = 15_000;
/** A connection that accepts nothing for this long is given up. */
const STALLED_MS = 60_000;

/** The owner of a stream. */
export interface ReaderOf {
  /** id of the token */
  token: string;
  /**
   * called every second, and when a token changes: a stream ends with its token, its session or its
   * right
   */
  stillAllowed: () => boolean;
}

interface Reader extends ReaderOf {
  response: Response;
  filter: EventFilter;
  /**
   * Missed events that wait for the connection. Weak references, so that a slow reader does not
   * hold events that left the buffer.
   */
  missed: WeakRef<Entry>[];
  skipped: number;
  thisSecond: number;
  /** since when the connection is full, ms since 1970 */
  fullSince: number | undefined;
}

export class EventStreams {
  readonly #readers = new Set<Reader>();
  readonly #timers: NodeJS.Timeout[];
  #stopped = false;

  /** @param show returns an event as readers see it */
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
   * Starts a stream: first the given events, then each new one.
   * @throws AppError `overloaded` if there are too many readers, or control is stopping
   */
  open(response: Response, filter: EventFilter, first: readonly Entry[], of: ReaderOf): void {
    if (this.#readers.size >= MAX_READERS || this.#stopped) {
      throw new AppError('overloaded', 'Too many streams are open; try again shortly', true);
    }
    if ([...this.#readers].filter(({ token }) => token === of.token).length >= MAX_READERS_OF_ONE) {
      const detail =
        `This token has ${MAX_READERS_OF_ONE} open streams, which is the limit. Close one ` +
        'first';
      throw new AppError('overloaded', detail, true);
    }
    // Proxies must not buffer the stream.
    response.status(200).set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const missed = first.slice(-MAX_BACKLOG).map((entry) => new WeakRef(entry));
    const skipped = first.length - missed.length;
    const reader: Reader = {
      ...of,
      response,
      filter,
      missed,
      skipped,
      thisSecond: 0,
      fullSince: undefined,
    };
    this.#readers.add(reader);
    response.on('close', () => this.#readers.delete(reader));
    response.on('drain', () => {
      reader.fullSince = undefined;
      this.#giveMissed(reader);
    });
    // The time before a browser reconnects.
    this.#send(reader, 'retry: 2000\n\n');
    this.#giveMissed(reader);
  }

  /** Ends the streams of readers that are no longer allowed to read. */
  recheck(): void {
    for (const reader of this.#readers) if (!reader.stillAllowed()) this.#end(reader);
  }

  /** Sends an event to all matching readers. */
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

  /**
   * Counts by source only. The other filters would parse the event, which a full reader is not
   * worth.
   */
  #skip(reader: Reader, { source }: Entry): void {
    if (reader.filter.source === undefined || reader.filter.source === source) reader.skipped++;
  }

  /** Sends missed events until the connection is full; `drain` continues. */
  #giveMissed(reader: Reader): void {
    let given = 0;
    for (; given < reader.missed.length && reader.fullSince === undefined; given++) {
      const entry = reader.missed[given]?.deref();
      if (entry) this.#write(reader, entry);
      else reader.skipped++;
    }
    reader.missed.splice(0, given);
  }

  /** Destroys the connection, and drops the bytes that wait for it. */
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
    this.#send(reader, `id: ${entry.id}\ndata: ${stringifyJson(this.show(entry))}\n\n`);
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
