import { hash } from 'node:crypto';

/**
 * Remembers recently routed messages, so that a message that a client repeats after a lost
 * acknowledgement is delivered once.
 *
 * Invariant: a message is a duplicate only of a lower offset in the same partition, and only once
 * the output of that record was acknowledged. A record that is read twice is therefore never its
 * own duplicate, and no record is dropped because of another that may itself be lost.
 *
 * Memory: 24 bytes an id in a ring (oldest first), and 8 to 17 in a table of ring positions by
 * hash, both grown by doubling: 65 MB at two million ids. A `Set` of strings would take several
 * times that. The last doubling, from one million to two, stops the process for a tenth of a
 * second, once.
 */
export interface DedupWindow {
  /**
   * true: the same message was routed from a lower offset of the partition, and its output is safe
   */
  isDuplicate(ref: MessageRef, nowMs: number): boolean;
  /** Call when Kafka has acknowledged all output of the record. */
  remember(ref: MessageRef, nowMs: number): void;
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
 * @param options.maxIds limit beyond which the oldest is forgotten (default two million)
 * @param options.keepMs how long an id counts, to the second (default an hour)
 */
export function createDedupWindow(options: { maxIds?: number; keepMs?: number } = {}): DedupWindow {
  const maxIds = options.maxIds ?? DEDUP_IDS;
  const keepS = Math.ceil((options.keepMs ?? DEDUP_MS) / 1_000);
  let ring = createRing(Math.min(FIRST_ROOM, maxIds));
  let table = createTable(ring);
  let oldest = 0;
  let size = 0;

  const forgetOldest = () => {
    table.remove(oldest);
    oldest = (oldest + 1) % ring.room;
    size--;
  };
  /** Call only when the ring is full, since it copies all of it. */
  const grow = () => {
    ring = unrolled(ring, oldest, Math.min(ring.room * 2, maxIds));
    table = createTable(ring);
    oldest = 0;
    // In the order of the ring, so that the later of two entries with the same hash is found.
    for (let i = 0; i < size; i++) table.put(i);
  };
  const isLive = (i: number, nowS: number) => nowS - at(ring.second, i) <= keepS;

  return {
    get size() {
      return size;
    },
    isDuplicate(s, nowMs) {
      const i = table.find(s.high, s.low);
      if (i < 0 || !isLive(i, Math.floor(nowMs / 1_000))) return false;
      return at(ring.partition, i) === s.partition && at(ring.offset, i) < s.offset;
    },
    remember(s, nowMs) {
      const nowS = Math.floor(nowMs / 1_000);
      // The first position stays: later copies are duplicates, and the first record read again is
      // not.
      if (this.isDuplicate(s, nowMs)) return;
      // Two for each new entry: expired entries disappear over time, and no single call pays for an
      // hour's worth.
      for (let n = 0; n < 2 && size > 0 && !isLive(oldest, nowS); n++) forgetOldest();
      if (size === ring.room) {
        if (ring.room < maxIds) grow();
        else forgetOldest();
      }
      const i = (oldest + size) % ring.room;
      size++;
      write(ring, i, s, nowS);
      table.put(i);
    },
  };
}

/** Entries by position, as columns. */
interface Ring {
  readonly room: number;
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  readonly offset: Float64Array;
  readonly partition: Int32Array;
  /** seconds since 1970 */
  readonly second: Uint32Array;
}
const COLUMNS = ['high', 'low', 'offset', 'partition', 'second'] as const;

function createRing(room: number): Ring {
  return {
    room,
    high: new Uint32Array(room),
    low: new Uint32Array(room),
    offset: new Float64Array(room),
    partition: new Int32Array(room),
    second: new Uint32Array(room),
  };
}

/** Returns a larger ring with the same entries, the oldest first. */
function unrolled(ring: Ring, oldest: number, room: number): Ring {
  const larger = createRing(room);
  for (const column of COLUMNS) {
    larger[column].set(ring[column].subarray(oldest));
    larger[column].set(ring[column].subarray(0, oldest), ring.room - oldest);
  }
  return larger;
}

function write(ring: Ring, i: number, s: MessageRef, nowS: number): void {
  ring.high[i] = s.high;
  ring.low[i] = s.low;
  ring.offset[i] = s.offset;
  ring.partition[i] = s.partition;
  ring.second[i] = nowS;
}

/**
 * Ring positions by hash: open addressing, linear probing, at most half full. 0 is empty, else
 * position + 1.
 */
function createTable(ring: Ring) {
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(ring.room * 2)));
  const mask = slots.length - 1;
  const slotOf = (high: number, low: number) => {
    let slot = low & mask;
    for (;;) {
      const i = at(slots, slot) - 1;
      if (i < 0 || (at(ring.high, i) === high && at(ring.low, i) === low)) return slot;
      slot = (slot + 1) & mask;
    }
  };
  return {
    /** Returns the position in the ring, or -1. */
    find: (high: number, low: number) => at(slots, slotOf(high, low)) - 1,
    /** Replaces an earlier entry with the same hash. */
    put(i: number) {
      slots[slotOf(at(ring.high, i), at(ring.low, i))] = i + 1;
    },
    /** Does nothing if a later entry with the same hash has replaced it. */
    remove(i: number) {
      let hole = slotOf(at(ring.high, i), at(ring.low, i));
      if (at(slots, hole) !== i + 1) return;
      // Move later entries up if their probe path crosses the hole. Without deletion marks,
      // searches stay fast.
      for (let slot = (hole + 1) & mask; at(slots, slot) !== 0; slot = (slot + 1) & mask) {
        const home = at(ring.low, at(slots, slot) - 1) & mask;
        if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
        slots[hole] = at(slots, slot);
        hole = slot;
      }
      slots[hole] = 0;
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
  return {
    isDuplicateStep({ topic, partition, offset, headers }, nowMs) {
      const id = headers.delivery;
      // A record without a delivery id is not checked. A test is sent only once.
      if (!id || headers.test) return false;
      const step = `${headers.replay ?? '0'}.${headers.attempt ?? '0'}.${headers.hop ?? '0'}`;
      let number = topics.get(topic);
      if (number === undefined) topics.set(topic, (number = topics.size));
      const place = messageRef(id, step, number * PARTITIONS + partition, offset);
      if (seen.isDuplicate(place, nowMs)) return true;
      seen.remember(place, nowMs);
      return false;
    },
  };
}
