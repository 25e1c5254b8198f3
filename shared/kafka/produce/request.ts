import { type ProduceError } from './errors';
import { type PartitionQueue, type QueuedRecord } from './partition-queue';

/** A request to a broker, and its result. */

/** A broker refuses batches over 1 MB for a partition: the whole request stays below. */
export const MAX_REQUEST_BYTES = 900_000;
const MAX_REQUEST_RECORDS = 2_000;

export interface AccumulatorOptions {
  /** Records of a blocked partition go to another partition of their topic. */
  spillToOtherPartitions: boolean;
  /**
   * Records are held while their topic refuses them, however long; otherwise they are returned to
   * their callers.
   */
  holds: boolean;
  /** least time between two requests to a leader, ms */
  lingerMs: number;
  /**
   * upper limit of `lingerMs`, as a multiple of the usual duration of a request. A request takes a
   * millisecond while there is CPU to spare, and several while cores are scarce: only then do
   * larger requests matter more than the wait.
   */
  lingerRequests: number;
}

/** The records of one partition in a request. */
export interface QueuePart {
  queue: PartitionQueue;
  items: QueuedRecord[];
}

export interface Request {
  node: number;
  /** true for the request of failing partitions */
  spare: boolean;
  parts: QueuePart[];
}

export interface Refused {
  item: QueuedRecord;
  /** the partition or topic of the record */
  place: string;
  error: ProduceError;
}

/** A partition that accepts no records, like all others of its topic. */
export class Closed {
  constructor(
    readonly place: string,
    readonly error: ProduceError,
  ) {}
}

export interface Answered {
  acknowledged: QueuePart[];
  refused: Refused[];
}

interface Draft extends Request {
  /** room for further bytes and records */
  bytes: number;
  records: number;
}

/** Fills the next requests from the queues of partitions, within the limits of a request. */
export class RequestDrafts {
  readonly #bySlot = new Map<number, Draft>();

  /**
   * Takes records of a queue into the request of its slot. @returns false if the request has no
   * room for any
   */
  add(slot: number, queue: PartitionQueue, now: number): boolean {
    let draft = this.#bySlot.get(slot);
    if (!draft) {
      const spare = queue.backoff.error !== undefined;
      draft = {
        node: queue.leader,
        spare,
        parts: [],
        bytes: MAX_REQUEST_BYTES,
        records: MAX_REQUEST_RECORDS,
      };
      this.#bySlot.set(slot, draft);
    }
    const items = queue.take(
      { bytes: draft.bytes, records: draft.records, empty: draft.parts.length === 0 },
      now,
    );
    if (items.length === 0) return false;
    for (const { bytes } of items) draft.bytes -= bytes;
    draft.records -= items.length;
    draft.parts.push({ queue, items });
    return true;
  }

  get requests(): Request[] {
    return [...this.#bySlot.values()];
  }
}

/** Weight of the last request in the usual duration. */
const LAST_WEIGHT = 1 / 8;

interface Lane {
  busy: boolean;
  begunAt: number;
  notBefore: number;
  /** usual duration of a request */
  usualMs: number;
}

/**
 * Decides when the next request to a leader may start. Each leader has one request in flight, and a
 * second one for failing partitions. Times are in ms, by `performance.now()`.
 */
export class RequestSlots {
  readonly #lanes = new Map<number, Lane>();
  #lingerMs: number;

  constructor(private readonly options: Pick<AccumulatorOptions, 'lingerMs' | 'lingerRequests'>) {
    this.#lingerMs = options.lingerMs;
  }

  /** Stops lingering. */
  hurry(): void {
    this.#lingerMs = 0;
    for (const lane of this.#lanes.values()) lane.notBefore = 0;
  }

  nameOf({ leader, backoff }: PartitionQueue): number {
    return nameOf(leader, backoff.error !== undefined);
  }

  /**
   * @param plenty there are records for a full request. @returns Infinity while a request is in
   *   flight
   */
  freeAt(queue: PartitionQueue, plenty: boolean): number {
    const lane = this.#lanes.get(this.nameOf(queue));
    if (lane === undefined) return 0;
    if (lane.busy) return Infinity;
    return plenty ? 0 : lane.notBefore;
  }

  begin({ node, spare }: { node: number; spare: boolean }, now: number): void {
    const name = nameOf(node, spare);
    const usualMs = this.#lanes.get(name)?.usualMs ?? 0;
    this.#lanes.set(name, { busy: true, begunAt: now, notBefore: now + this.#lingerMs, usualMs });
  }

  end({ node, spare }: { node: number; spare: boolean }, now: number): void {
    const lane = this.#lanes.get(nameOf(node, spare));
    if (!lane) return;
    lane.busy = false;
    lane.usualMs += LAST_WEIGHT * (now - lane.begunAt - lane.usualMs);
    const { lingerRequests } = this.options;
    if (lingerRequests < Infinity) {
      lane.notBefore = Math.min(lane.notBefore, lane.begunAt + lingerRequests * lane.usualMs);
    }
  }
}

function nameOf(node: number, spare: boolean): number {
  return node * 2 + Number(spare);
}
