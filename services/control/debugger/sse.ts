import { stringifyJson } from '../../../shared/json/json';
import { type Response } from 'express';
import { cpuMs } from '../../../shared/runtime/cpu-clock';
import { AppError } from '../../../shared/runtime/errors';
import { RequestWork } from '../expressions/work';
import { Problem } from '../http/problem';
import { type DebugEvent, type Entry, type EventFilter } from './buffer';

/**
 * Streams events to readers by Server-Sent Events. While a reader's connection is full, events are
 * left out and counted, so that a slow reader costs one buffer and delays no other reader.
 *
 * An event is rendered once for all readers. The streams of one token share a number of events and
 * a time for rendering them.
 */

const MAX_READERS = 100;
/** Leaves room for the streams of other tokens. */
const MAX_READERS_OF_ONE = 20;
/** Most bytes that wait for one reader. A burst fits in; with all readers stalled it is 50 MB. */
const MAX_WAITING_BYTES = 512 * 1024;
/**
 * Events for all streams of one token. More than a person can read: a page that draws thousands a
 * second freezes.
 */
const MAX_PER_SECOND = 200;
/** Time of one token's renderings in a second. An event takes 0.1 to 1 ms. */
const MAX_WORK_MS = 200;
const RETRY_AFTER_S = 5;
/** Most missed events among which a returning reader gets those that its filter selects. */
const MAX_BACKLOG = 2_000;
const PING_MS = 15_000;
/** A connection that accepts nothing for this long is given up. */
const STALLED_MS = 60_000;

interface Owner {
  token: string;
  readers: Set<Reader>;
  /** events that they got in this second */
  events: number;
  work: RequestWork;
}

export interface ReaderOf {
  token: string;
  /**
   * called every second, and when a token changes: a stream ends with its token, its session or its
   * right
   */
  stillAllowed: () => boolean;
}

interface Reader {
  owner: Owner;
  stillAllowed: () => boolean;
  response: Response;
  filter: EventFilter;
  /**
   * Missed events that wait for the connection, or for the next second. Weak references, so that a
   * slow reader does not hold events that left the buffer.
   */
  missed: WeakRef<Entry>[];
  skipped: number;
  /** since when the connection is full, ms since 1970 */
  fullSince: number | undefined;
}

export class EventStreams {
  /** by token. One without streams stays to the end of its second, so that no token begins anew. */
  readonly #owners = new Map<string, Owner>();
  /** while there are streams */
  #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  /**
   * @param events `shows` returns whether a filter selects an event that may be shown; `show`
   *   returns an event as readers see it
   * @param cpu measures the work of renderings, in ms
   */
  constructor(
    private readonly now: () => number,
    private readonly events: {
      shows: (entry: Entry, filter: EventFilter) => boolean;
      show: (entry: Entry, work: RequestWork) => DebugEvent;
    },
    private readonly cpu: () => number = cpuMs,
  ) {}

  /**
   * Starts a stream: first those of the given events that the filter selects, then each new one.
   * @throws AppError `overloaded` if there are too many readers, or control is stopping
   * @throws Problem `rate_limited` if the token has too many
   */
  open(
    response: Response,
    filter: EventFilter,
    first: readonly Entry[],
    { token, stillAllowed }: ReaderOf,
  ): void {
    const owner = this.#owners.get(token) ?? {
      token,
      readers: new Set(),
      events: 0,
      work: this.#newWork(),
    };
    if (owner.readers.size >= MAX_READERS_OF_ONE) throw tooManyStreams();
    if (this.#readers().length >= MAX_READERS || this.#stopped) {
      throw new AppError('overloaded', 'Too many streams are open; try again shortly', true);
    }
    this.#owners.set(token, owner);
    this.#startTimers();
    // Proxies must not buffer the stream.
    response.status(200).set({ 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.flushHeaders();
    const missed = first.slice(-MAX_BACKLOG).map((entry) => new WeakRef(entry));
    const skipped = first.length - missed.length;
    const reader: Reader = {
      owner,
      stillAllowed,
      response,
      filter,
      missed,
      skipped,
      fullSince: undefined,
    };
    owner.readers.add(reader);
    response.on('close', () => owner.readers.delete(reader));
    response.on('drain', () => {
      reader.fullSince = undefined;
      this.#giveMissed(reader);
    });
    // The time before a browser reconnects.
    this.#send(reader, 'retry: 2000\n\n');
    this.#giveMissed(reader);
  }

  recheck(): void {
    for (const reader of this.#readers()) if (!reader.stillAllowed()) this.#end(reader);
  }

  publish(entry: Entry): void {
    let shared: string | undefined;
    for (const owner of this.#owners.values()) {
      const isOver = owner.events >= MAX_PER_SECOND || owner.work.isSpent;
      let given = 0;
      for (const reader of owner.readers) {
        if (isOver || reader.fullSince !== undefined) this.#skip(reader, entry);
        else if (!entry.matches(reader.filter)) continue;
        else if (reader.missed.length > 0) this.#giveLater(reader, entry);
        else {
          const text = shared ?? this.#render(entry, owner);
          // A token whose time is over sees less of an event, and others do not.
          if (!owner.work.isSpent) shared = text;
          this.#write(reader, text);
          given = 1;
        }
      }
      owner.events += given;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimers();
    for (const { response } of this.#readers()) response.end();
  }

  #startTimers(): void {
    if (this.#timers.length > 0) return;
    this.#timers = [
      setInterval(() => this.#ping(), PING_MS).unref(),
      setInterval(() => this.#nextSecond(), 1_000).unref(),
    ];
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  /**
   * Counts by source only. The other filters would parse the event, which a full reader is not
   * worth.
   */
  #skip(reader: Reader, { source }: Entry): void {
    if (reader.filter.source === undefined || reader.filter.source === source) reader.skipped++;
  }

  #readers(): Reader[] {
    return [...this.#owners.values()].flatMap(({ readers }) => [...readers]);
  }

  #newWork(): RequestWork {
    return new RequestWork(this.cpu, undefined, { ms: MAX_WORK_MS, bytes: Infinity });
  }

  /** Keeps the order: the reader has not yet got what it missed before. */
  #giveLater(reader: Reader, entry: Entry): void {
    if (reader.missed.length < MAX_BACKLOG) reader.missed.push(new WeakRef(entry));
    else reader.skipped++;
  }

  /**
   * Sends missed events until the connection is full or the token's time is over; `drain` and the
   * next second continue.
   */
  #giveMissed(reader: Reader): void {
    const { missed, owner } = reader;
    let given = 0;
    for (; given < missed.length && reader.fullSince === undefined; given++) {
      if (owner.work.isSpent) break;
      const entry = missed[given]?.deref();
      if (!entry) reader.skipped++;
      else if (owner.work.measure(() => this.events.shows(entry, reader.filter))) {
        this.#write(reader, this.#render(entry, owner));
      }
    }
    missed.splice(0, given);
  }

  #render(entry: Entry, { work }: Owner): string {
    const render = () => stringifyJson(this.events.show(entry, work));
    return `id: ${entry.id}\ndata: ${work.measure(render)}\n\n`;
  }

  /** Destroys the connection, and drops the bytes that wait for it. */
  #end(reader: Reader): void {
    reader.owner.readers.delete(reader);
    reader.response.destroy();
  }

  #write(reader: Reader, text: string): void {
    this.#reportSkipped(reader);
    this.#send(reader, text);
  }

  #reportSkipped(reader: Reader): void {
    const { skipped: count } = reader;
    if (count === 0) return;
    reader.skipped = 0;
    this.#send(reader, `event: skipped\ndata: ${JSON.stringify({ count })}\n\n`);
  }

  #send(reader: Reader, text: string): void {
    const { response } = reader;
    response.write(text);
    if (response.writableLength > MAX_WAITING_BYTES) reader.fullSince ??= this.now();
  }

  #ping(): void {
    for (const reader of this.#readers()) {
      if (reader.fullSince === undefined) this.#send(reader, ': here\n\n');
      else if (this.now() - reader.fullSince > STALLED_MS) this.#end(reader);
    }
  }

  #nextSecond(): void {
    for (const owner of this.#owners.values()) {
      owner.events = 0;
      owner.work = this.#newWork();
      if (owner.readers.size === 0) this.#owners.delete(owner.token);
    }
    this.recheck();
    for (const reader of this.#readers()) {
      this.#giveMissed(reader);
      // No event may follow for long.
      if (reader.missed.length === 0 && reader.fullSince === undefined) this.#reportSkipped(reader);
    }
    if (this.#owners.size === 0) this.#stopTimers();
  }
}

function tooManyStreams(): Problem {
  return new Problem(
    'rate_limited',
    `This token has ${MAX_READERS_OF_ONE} open streams, which is the limit. Close one first`,
    { headers: { 'Retry-After': String(RETRY_AFTER_S) } },
  );
}
