import { type ProduceError } from './errors';
import { type PartitionQueue, type QueuedRecord } from './partition-queue';

/** A request to a broker, and its result. */

/** A partition that has accepted no records for a second; without a number, a topic that has been unknown that long. */
export interface Blocked {
  topic: string;
  partition?: number;
  error: ProduceError;
}

/** The records of one partition in a request. */
export interface Part {
  queue: PartitionQueue;
  items: QueuedRecord[];
}

export interface Request {
  node: number;
  /** true for the request of failing partitions */
  spare: boolean;
  parts: Part[];
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
  acknowledged: Part[];
  refused: Refused[];
}
