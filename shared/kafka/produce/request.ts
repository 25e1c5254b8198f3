import { type ProduceError } from './errors';
import { type PartitionQueue, type QueuedRecord } from './partition-queue';

/** A request to a broker, and its result. */

/** A partition that has taken nothing for a second; without a number, a topic that is not known for as long. */
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
  /** It is for partitions that fail. */
  spare: boolean;
  parts: Part[];
}

export interface Refused {
  item: QueuedRecord;
  /** the partition or topic that it was meant for */
  place: string;
  error: ProduceError;
}

/** A partition that takes no records, and neither does any other of its topic. */
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
