import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';

/** Models the logs of topics with one partition after the other, on one broker. */

interface ModelRecord {
  epoch: number;
  /** unlike in Kafka, no two records of a log have the same */
  timestamp: number;
}

export class ModelLog {
  records: ModelRecord[] = [];
  /** epoch of the leader */
  epoch = 0;
  /** number of times that a log was cut */
  cuts = 0;

  append(count: number, now: () => number): void {
    for (let i = 0; i < count; i++) this.records.push({ epoch: this.epoch, timestamp: now() });
  }

  cut(length: number): void {
    this.records = this.records.slice(0, length);
    this.cuts++;
  }

  get end(): number {
    return this.records.length;
  }

  read(offset: number, most: number): FetchedRecord[] {
    return this.records.slice(offset, offset + most).map(({ epoch, timestamp }, i) => {
      const batch = { buffer: Buffer.alloc(0), isHidden: false, epoch };
      return new FetchedRecord(batch, 0, offset + i, timestamp);
    });
  }

  /** Returns the offset of the first record since a time; -1 if there is none. */
  firstSince(atMs: number): number {
    return this.records.findIndex(({ timestamp }) => timestamp >= atMs);
  }

  /** Returns where the records of an epoch, or of those before it, end. */
  endOfEpoch(epoch: number): number {
    const next = this.records.findIndex((record) => record.epoch > epoch);
    return next < 0 ? this.end : next;
  }
}
