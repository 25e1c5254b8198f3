import { hash } from 'node:crypto';

/**
 * Remembers recently routed messages, so that a message that a client repeats after a lost
 * acknowledgement is delivered once.
 *
 * Invariant: a message is a duplicate only of a lower offset in the same partition, and only once
 * the output of that record was acknowledged. A record that is read twice is therefore never its
 * own duplicate, and no record is dropped because of another that may itself be lost.
 *
 * Ids come in any order of time: after a takeover, those of earlier hours follow those of the last
 * minute. At its limit the window forgets the earliest minute first.
 *
 * Memory: 28 bytes an id in columns, and 8 to 17 in a table of their rows by hash, both grown by
 * doubling: 75 MB at two million ids. A `Set` of strings would take several times that. The last
 * doubling, from one million to two, stops the process for a tenth of a second, once.
 */
export interface DedupWindow {
  /**
   * true: the same message was routed from a lower offset of the partition, and its output is safe
   */
  isDuplicate(ref: MessageRef, nowMs: number): boolean;
  /**
   * Call when Kafka has acknowledged all output of the record. @param atMs the time from which its
   * age counts
   */
  remember(ref: MessageRef, atMs: number): void;
  /**
   * Call after a log was cut. Messages from this offset on are gone: a later record with the same
   * id is no copy of them.
   */
  forget(partition: number, from: number): void;
  /** ids held, expired ones included */
  readonly size: number;
}

/** The position of a message. Its name is a 64-bit hash of source and message id, in two halves. */
export interface MessageRef {
  readonly high: number;
  readonly low: number;
  readonly partition: number;
  readonly offset: number;
}

/**
 * Hashes a source and a message id: 16 hexadecimal digits. The hash is cryptographic, at 0.3 µs, so
 * that no sender can choose a message id that collides with an id of another source.
 */
export function callHash(sourceId: string, messageId: string): string {
  return hash('sha256', `${sourceId}\0${messageId}`).slice(0, 16);
}

/** @param call hash of the call, 16 hexadecimal digits */
export function refFromHash(call: string, partition: number, offset: number): MessageRef {
  return {
    high: Number.parseInt(call.slice(0, 8), 16),
    low: Number.parseInt(call.slice(8, 16), 16),
    partition,
    offset,
  };
}

export function messageRef(
  sourceId: string,
  messageId: string,
  partition: number,
  offset: number,
): MessageRef {
  return refFromHash(callHash(sourceId, messageId), partition, offset);
}

const FIRST_ROOM = 1_024;
/** Limits of the ids in a process: their number, and their age. */
export const DEDUP_IDS = 2_000_000;
export const DEDUP_MS = 3_600_000;

/**
 * @param options.maxIds limit beyond which the earliest is forgotten (default two million)
 * @param options.keepMs how long an id counts, to the second (default an hour)
 */
export function createDedupWindow(options: { maxIds?: number; keepMs?: number } = {}): DedupWindow {
  const maxIds = options.maxIds ?? DEDUP_IDS;
  const keepS = Math.ceil((options.keepMs ?? DEDUP_MS) / 1_000);
  let rows = createRows(Math.min(FIRST_ROOM, maxIds));
  let table = createTable(rows);
  const ages = new RowsByMinute();
  let size = 0;

  /** Returns the row of the earliest entry, which is then free. */
  const forgetEarliest = (): number => {
    const row = ages.takeEarliest(rows);
    table.remove(row);
    size--;
    return row;
  };
  const isLive = (row: number, nowS: number) => nowS - at(rows.second, row) <= keepS;
  const isKnown = (row: number, { partition, offset }: MessageRef) =>
    at(rows.partition, row) === partition && at(rows.offset, row) <= offset;
  /** the rows below it were used; of those that are free again, each names the next */
  let unused = 0;
  let firstFree = NONE;
  const release = (row: number) => {
    rows.next[row] = firstFree;
    firstFree = row;
  };
  const freeRow = (): number => {
    if (firstFree !== NONE) {
      const row = firstFree;
      firstFree = at(rows.next, row);
      return row;
    }
    if (unused === rows.room) {
      if (rows.room === maxIds) return forgetEarliest();
      const before = table;
      rows = enlarged(rows, Math.min(rows.room * 2, maxIds));
      table = createTable(rows);
      for (const row of before.rows()) table.put(row);
    }
    return unused++;
  };

  return {
    get size() {
      return size;
    },
    isDuplicate(ref, nowMs) {
      const row = table.find(ref.high, ref.low);
      if (row === NONE || !isLive(row, Math.floor(nowMs / 1_000))) return false;
      return isKnown(row, ref) && at(rows.offset, row) < ref.offset;
    },
    remember(ref, atMs) {
      const second = Math.floor(atMs / 1_000);
      const known = table.find(ref.high, ref.low);
      // The first position stays: later copies are duplicates, and the first record read again is
      // not.
      if (known !== NONE && isLive(known, second) && isKnown(known, ref)) return;
      // A row of its own would be forgotten before the later one, and the hash with it.
      if (known !== NONE && at(rows.second, known) > second) {
        rows.partition[known] = ref.partition;
        rows.offset[known] = ref.offset;
        return;
      }
      // Two for each new entry: expired entries disappear over time, and no single call pays for an
      // hour's worth.
      for (let n = 0; n < 2 && size > 0 && !isLive(ages.earliest, second); n++) {
        release(forgetEarliest());
      }
      // It would be the first to be forgotten.
      if (size === maxIds && ages.isBeforeEarliest(second)) return;
      const row = freeRow();
      size++;
      write(rows, row, ref, second);
      ages.add(rows, row);
      table.put(row);
    },
    forget(partition, from) {
      for (let row = 0; row < unused; row++) {
        if (at(rows.partition, row) !== partition || at(rows.offset, row) < from) continue;
        // No offset is higher, so no record counts as its copy.
        rows.offset[row] = Infinity;
      }
    },
  };
}

/** Entries by row, as columns. */
interface Rows {
  readonly room: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  readonly offset: Float64Array;
  readonly partition: Int32Array;
  /** seconds since 1970 */
  readonly second: Uint32Array;
  /** the next row of the same minute, or the next free one */
  readonly next: Int32Array;
}
/** instead of a row */
const NONE = -1;
const COLUMNS = ['high', 'low', 'offset', 'partition', 'second', 'next'] as const;

function createRows(room: number): Rows {
  return {
    room,
    high: new Uint32Array(room),
    low: new Uint32Array(room),
    offset: new Float64Array(room),
    partition: new Int32Array(room),
    second: new Uint32Array(room),
    next: new Int32Array(room),
  };
}

function enlarged(rows: Rows, room: number): Rows {
  const larger = createRows(room);
  for (const column of COLUMNS) larger[column].set(rows[column]);
  return larger;
}

function write(rows: Rows, row: number, ref: MessageRef, second: number): void {
  rows.high[row] = ref.high;
  rows.low[row] = ref.low;
  rows.offset[row] = ref.offset;
  rows.partition[row] = ref.partition;
  rows.second[row] = second;
  rows.next[row] = NONE;
}

/** The rows of a minute, in the order in which they were added. */
interface Minute {
  minute: number;
  first: number;
  last: number;
}

/** Finds the earliest row, to the minute: in an hour's window there are some sixty lists. */
class RowsByMinute {
  readonly #minutes = new Map<number, Minute>();
  #earliest: Minute | undefined;
  #latestAdded: Minute | undefined;

  /** Call only while there are rows. */
  get earliest(): number {
    return this.#earliest?.first ?? 0;
  }

  isBeforeEarliest(second: number): boolean {
    return this.#earliest !== undefined && minuteOf(second) < this.#earliest.minute;
  }

  add(rows: Rows, row: number): void {
    const minute = minuteOf(at(rows.second, row));
    let list = this.#latestAdded;
    if (list?.minute !== minute) this.#latestAdded = list = this.#minutes.get(minute);
    if (list) {
      rows.next[list.last] = row;
      list.last = row;
      return;
    }
    const started = { minute, first: row, last: row };
    this.#minutes.set(minute, started);
    this.#latestAdded = started;
    if (!this.#earliest || minute < this.#earliest.minute) this.#earliest = started;
  }

  /** Removes the earliest row. Call only while there are rows. */
  takeEarliest(rows: Rows): number {
    const list = this.#earliest;
    if (!list) return 0;
    const row = list.first;
    list.first = at(rows.next, row);
    if (list.first === NONE) this.#remove(list);
    return row;
  }

  #remove({ minute }: Minute): void {
    this.#minutes.delete(minute);
    this.#latestAdded = undefined;
    this.#earliest = undefined;
    for (const each of this.#minutes.values()) {
      if (!this.#earliest || each.minute < this.#earliest.minute) this.#earliest = each;
    }
  }
}

function minuteOf(second: number): number {
  return Math.floor(second / 60);
}

/** Rows by hash: open addressing, linear probing, at most half full. 0 is empty, else row + 1. */
function createTable(rows: Rows) {
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(rows.room * 2)));
  const mask = slots.length - 1;
  const slotOf = (high: number, low: number) => {
    let slot = low & mask;
    for (;;) {
      const row = at(slots, slot) - 1;
      if (row < 0 || (at(rows.high, row) === high && at(rows.low, row) === low)) return slot;
      slot = (slot + 1) & mask;
    }
  };
  return {
    /** Returns the row, or NONE. */
    find: (high: number, low: number) => at(slots, slotOf(high, low)) - 1,
    /** Replaces an earlier entry with the same hash. */
    put(row: number) {
      slots[slotOf(at(rows.high, row), at(rows.low, row))] = row + 1;
    },
    /** Does nothing if a later entry with the same hash has replaced it. */
    remove(row: number) {
      let hole = slotOf(at(rows.high, row), at(rows.low, row));
      if (at(slots, hole) !== row + 1) return;
      // Move later entries up if their probe path crosses the hole. Without deletion marks,
      // searches stay fast.
      for (let slot = (hole + 1) & mask; at(slots, slot) !== 0; slot = (slot + 1) & mask) {
        const home = at(rows.low, at(slots, slot) - 1) & mask;
        if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
        slots[hole] = at(slots, slot);
        hole = slot;
      }
      slots[hole] = 0;
    },
    /** Returns the rows that can be found. */
    *rows() {
      for (const slot of slots) if (slot > 0) yield slot - 1;
    },
  };
}

/** Reads an array. Positions are always within it, which the type system cannot know. */
function at(array: Uint32Array | Int32Array | Float64Array, i: number): number {
  return array[i] ?? 0;
}

/**
 * Drops the second of two records with the same step of the same delivery. If a process dies after
 * it wrote the result of a record and before it committed the record, the record is read again: its
 * result would be written twice, and from there on the delivery would exist twice.
 *
 * The same step is the same (delivery, replay, attempt, hop) at a higher offset of the same
 * partition. A step may be remembered as soon as its record is accepted: until the record is done,
 * no commit passes it, so that after a crash both are read again.
 */
export interface StepDedup {
  /** @returns whether to drop the record */
  isDuplicateStep(record: StepRecord, nowMs: number): boolean;
  /** Call after a log was cut: steps that it held from this offset on may come again. */
  forget(cut: { topic: string; partition: number; from: number }): void;
}

interface StepRecord {
  topic: string;
  partition: number;
  offset: number;
  headers: Readonly<Record<string, string | undefined>>;
}

/**
 * About 8 MB. At 5,000 records a second that is 40 s, several times what detecting and recovering
 * from a crash takes.
 */
const MOST_STEPS = 200_000;
/** More than any topic has. Combines topic and partition into one number. */
const PARTITIONS = 100_000;

export function createStepDedup(maxSteps = MOST_STEPS): StepDedup {
  const seen = createDedupWindow({ maxIds: maxSteps });
  const topics = new Map<string, number>();
  const numberOf = (topic: string, partition: number) => {
    let number = topics.get(topic);
    if (number === undefined) topics.set(topic, (number = topics.size));
    return number * PARTITIONS + partition;
  };
  return {
    isDuplicateStep({ topic, partition, offset, headers }, nowMs) {
      const id = headers.delivery;
      // A record without a delivery id is not checked. A test is sent only once.
      if (!id || headers.test) return false;
      const step = `${headers.replay ?? '0'}.${headers.attempt ?? '0'}.${headers.hop ?? '0'}`;
      const place = messageRef(id, step, numberOf(topic, partition), offset);
      if (seen.isDuplicate(place, nowMs)) return true;
      seen.remember(place, nowMs);
      return false;
    },
    forget({ topic, partition, from }) {
      seen.forget(numberOf(topic, partition), from);
    },
  };
}
