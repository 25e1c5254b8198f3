import { defined } from '../../../shared/collections/defined';
import { ExactNumber, parseJson } from '../../../shared/json/json';
import { type InRecord } from '../../../shared/kafka/port';
import { EVENT_WARNINGS, type EventWarning } from '../../../shared/model/client-time';
import { isJsonObject, type Json } from '../../../shared/model/message';
import { type RejectedRecord } from '../../../shared/model/rejected-calls';
import { isoTime } from '../../../shared/model/time';
import { type Forgotten } from '../history/deletions';

/**
 * Keeps the latest events in memory, limited by events for each source and by total bytes. When the
 * space is used up, the source with most bytes loses its oldest events, so that a busy source does
 * not displace the others.
 *
 * Values are stored as they came, and parsed on demand.
 */

export interface DebugEvent {
  id: string;
  at: string;
  source: string;
  accepted: boolean;
  call: Json;
  /** what ingest could not read, and replaced */
  warnings: EventWarning[];
  /** why it was rejected */
  code?: string;
  message?: string;
  /** present if it stands for several rejected calls, or for calls whose content is not stored */
  count?: number;
}

export interface EventFilter {
  source?: string | undefined;
  type?: string | undefined;
  user?: string | undefined;
  accepted?: boolean | undefined;
}

/** Fields of a call that filters compare. */
interface Traits {
  type: string | undefined;
  users: string[];
}

/** A stored event. */
export class Entry {
  #traits: Traits | undefined;
  readonly #partition: number;
  readonly #offset: number;
  readonly atMs: number;
  readonly source: string;
  readonly value: Buffer;
  readonly #warnings: string | undefined;
  readonly #count: number | undefined;

  constructor(
    record: InRecord,
    /** order of arrival in this process */
    readonly order: number,
    readonly accepted: boolean,
    /** what is shown as its value */
    shown = record.value,
  ) {
    this.#partition = record.partition;
    this.#offset = record.offset;
    this.atMs = record.timestampMs;
    this.source = record.headers.source ?? '';
    this.#warnings = record.headers.warnings;
    const count = Number(record.headers.count);
    this.#count = Number.isSafeInteger(count) ? count : undefined;
    // A copy, since the value is a slice of a whole fetch.
    this.value = Buffer.from(shown ?? '');
  }

  /** Identifies the record; begins with its time. */
  get id(): string {
    const kind = this.accepted ? 'm' : 'r';
    return `${this.atMs.toString(36)}-${kind}${String(this.#partition)}-${String(this.#offset)}`;
  }

  /** Returns the number of calls that it stands for. */
  get calls(): number {
    return this.#count ?? 1;
  }

  get traits(): Traits {
    return (this.#traits ??= traitsOf(this.view().call));
  }

  view(): DebugEvent {
    const { id, source, accepted } = this;
    const at = isoTime(this.atMs);
    const value = parse(this.value);
    const named = this.#warnings?.split(',') ?? [];
    const warnings = EVENT_WARNINGS.filter((warning) => named.includes(warning));
    if (accepted) return { id, at, source, accepted, call: value, warnings };
    const { call = null, code = '', message = '' } = isJsonObject(value) ? rejectedOf(value) : {};
    const count = this.#count;
    return { id, at, source, accepted, call, warnings, code, message, ...defined({ count }) };
  }

  matches({ source, type, user, accepted }: EventFilter): boolean {
    if (source !== undefined && source !== this.source) return false;
    if (accepted !== undefined && accepted !== this.accepted) return false;
    if (type !== undefined && type !== this.traits.type) return false;
    return user === undefined || this.traits.users.includes(user);
  }
}

export interface BufferLimits {
  perSource: number;
  bytes: number;
  total: number;
}

const LIMITS: BufferLimits = { perSource: 500, bytes: 32 * 1024 * 1024, total: 20_000 };
/** Memory of an entry in addition to its value. */
const OVERHEAD_BYTES = 300;

interface KeptEvents {
  entries: Entry[];
  bytes: number;
}

export class EventBuffer {
  readonly #bySource = new Map<string, KeptEvents>();
  #order = 0;
  #bytes = 0;
  #count = 0;

  /** @param forgotten deleted users, whose calls are never shown, whenever they are read */
  constructor(
    private readonly limits: BufferLimits = LIMITS,
    private readonly forgotten: Pick<Forgotten, 'hides'> = { hides: () => false },
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** @param shown instead of its value. @returns the event of the record */
  add(record: InRecord, accepted: boolean, shown = record.value): Entry {
    const entry = new Entry(record, ++this.#order, accepted, shown);
    const { source, value } = entry;
    const kept = this.#bySource.get(source) ?? { entries: [], bytes: 0 };
    this.#bySource.set(source, kept);
    kept.entries.push(entry);
    this.#account(kept, 1, value.length + OVERHEAD_BYTES);
    // Trims in batches, since removing the first element moves all others.
    if (kept.entries.length > this.limits.perSource * 1.25) {
      this.#shorten(kept, this.limits.perSource);
    }
    while (this.#bytes > this.limits.bytes || this.#count > this.limits.total) this.#giveWay();
    return entry;
  }

  /**
   * Returns the events of some sources, or of all, also hidden ones. The newest come first, by
   * time: after a start, whole partitions arrive one behind the other. Parses none.
   */
  newestFirst(sources: readonly string[] | undefined, before?: string): Entry[] {
    const all = this.#of(sources).sort((a, b) => b.atMs - a.atMs || b.order - a.order);
    if (before === undefined) return all;
    const seen = all.findIndex(({ id }) => id === before);
    // The event was dropped, and so were all older ones.
    return seen === -1 ? [] : all.slice(seen + 1);
  }

  /**
   * Returns the events after the last one that a reader saw, in order, also hidden ones. If that
   * one is unknown here (dropped, or sent by another process), returns all from shortly before its
   * time on: rather twice than never. For the same reason a later event counts, though it arrived
   * before: after a start, whole partitions arrive one behind the other. Parses none.
   */
  since(id: string, filter: Pick<EventFilter, 'source' | 'accepted'>): Entry[] {
    const seen = this.#find(id);
    const atMs = timeOf(id) ?? Infinity;
    return this.#of(filter.source === undefined ? undefined : [filter.source])
      .filter((entry) =>
        seen ? entry.order > seen.order || entry.atMs > seen.atMs : entry.atMs >= atMs - OVERLAP_MS,
      )
      .filter((entry) => filter.accepted === undefined || filter.accepted === entry.accepted)
      .sort((a, b) => a.order - b.order);
  }

  /** Returns whether a filter selects an event that may be shown. Parses it, if it must. */
  shows(entry: Entry, filter: EventFilter): boolean {
    return entry.matches(filter) && !this.hides(entry);
  }

  /** Returns whether the user of a call was deleted after the call. */
  hides(entry: Entry): boolean {
    return this.forgotten.hides(() => entry.traits.users, entry.source, entry.atMs);
  }

  /** Frees hidden calls. */
  purge(): void {
    for (const kept of this.#bySource.values()) {
      const hidden = new Set(kept.entries.filter((entry) => this.hides(entry)));
      for (const entry of hidden) this.#account(kept, -1, -cost(entry));
      if (hidden.size > 0) kept.entries = kept.entries.filter((entry) => !hidden.has(entry));
    }
    this.#dropEmpty();
  }

  #of(sources: readonly string[] | undefined): Entry[] {
    const wanted = sources === undefined ? this.#bySource.keys() : new Set(sources);
    return [...wanted].flatMap((source) => this.#bySource.get(source)?.entries ?? []);
  }

  /** Returns an event by its id, if it is still there and may be shown. */
  find(id: string): Entry | undefined {
    const entry = this.#find(id);
    return entry && !this.hides(entry) ? entry : undefined;
  }

  #find(id: string): Entry | undefined {
    for (const { entries } of this.#bySource.values()) {
      const found = entries.find((entry) => entry.id === id);
      if (found) return found;
    }
    return undefined;
  }

  #giveWay(): void {
    let largest: KeptEvents | undefined;
    for (const kept of this.#bySource.values()) {
      if (kept.bytes > (largest?.bytes ?? 0)) largest = kept;
    }
    // Drops half of it, so that the search does not run for each event.
    if (largest) this.#shorten(largest, Math.floor(largest.entries.length / 2));
    this.#dropEmpty();
  }

  #dropEmpty(): void {
    for (const [source, { entries }] of this.#bySource) {
      if (entries.length === 0) this.#bySource.delete(source);
    }
  }

  #shorten(kept: KeptEvents, length: number): void {
    const gone = kept.entries.splice(0, kept.entries.length - length);
    for (const entry of gone) this.#account(kept, -1, -cost(entry));
  }

  #account(kept: KeptEvents, count: number, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
    this.#count += count;
  }
}

/** Exceeds the differences between the clocks of brokers, and between the order of partitions. */
const OVERLAP_MS = 2_000;

function cost({ value }: Entry): number {
  return value.length + OVERHEAD_BYTES;
}

function timeOf(id: string): number | undefined {
  const [, time] = /^([0-9a-z]{1,10})-[mr]\d+-\d+$/.exec(id) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}

function parse(value: Buffer): Json {
  const text = value.toString();
  try {
    return parseJson(text) as Json;
  } catch {
    return text;
  }
}

function traitsOf(call: Json): Traits {
  if (!isJsonObject(call)) return { type: undefined, users: [] };
  const { type, userId, anonymousId } = call;
  const users = [userId, anonymousId].flatMap((id) =>
    typeof id === 'string' || typeof id === 'number' || id instanceof ExactNumber
      ? [String(id)]
      : [],
  );
  return { type: typeof type === 'string' ? type : undefined, users };
}

const rejectedOf = (value: unknown) => value as Partial<RejectedRecord>;
