import { type FetchedRecord } from './codec/records';
import { TakenRecord, type Partition } from './partition';
import { type OpenRecord, type Verdict } from './port';

/**
 * Offers a partition's messages to the handler, in turn. What is refused is kept with its partition, which pauses; it is
 * offered again at its time, or when there is room.
 */
export class Offers {
  constructor(
    private readonly options: {
      onRecord: (record: OpenRecord) => Verdict;
      tell: (what: 'pause' | 'resume', partition: Partition) => void;
      stopping: () => boolean;
    },
  ) {}

  /** Offers them in turn; from the first that is refused on they are kept for later, and the partition pauses. */
  all(partition: Partition, messages: readonly FetchedRecord[]): void {
    for (const [i, message] of messages.entries()) {
      const record = new TakenRecord(partition, message);
      if (!partition.ledger.take(record.offset)) continue;
      const verdict = this.options.onRecord(record);
      if (verdict === 'taken') {
        record.letGo();
        continue;
      }
      partition.ledger.untake(record.offset);
      partition.rest = messages.slice(i);
      this.options.tell('pause', partition);
      if (verdict !== 'full') {
        const waitMs = Math.max(0, verdict.againAtMs - Date.now());
        partition.timer = setTimeout(() => {
          partition.timer = undefined;
          this.rest(partition);
        }, waitMs);
      }
      return;
    }
  }

  rest(partition: Partition): void {
    const { rest } = partition;
    if (!rest || this.options.stopping()) return;
    partition.rest = undefined;
    this.all(partition, rest);
    if (!partition.waits) this.options.tell('resume', partition);
  }
}
