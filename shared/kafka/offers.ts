import { type FetchedRecord } from './codec/records';
import { TakenRecord, type Partition } from './partition';
import { type OpenRecord, type Verdict } from './port';

/**
 * What records get of one turn of the event loop, ms. A fetch of a megabyte may begin a thousand requests, a tenth of a
 * second's work: what has been answered meanwhile must not wait for all of it.
 */
const TURN_MS = 5;

export interface OffersOptions {
  onRecord: (record: OpenRecord) => Verdict;
  tell: (what: 'pause' | 'resume', partition: Partition) => void;
  stopping: () => boolean;
  /** ms, for how long a turn has lasted; default: the machine's */
  now?: () => number;
  /** calls back in the next turn of the event loop, when what had come in was seen to */
  soon?: (callback: () => void) => void;
}

/**
 * Offers a partition's messages to the handler, in turn. What is refused is kept with its partition, which pauses; it is
 * offered again at its time, or when there is room. What a turn of the event loop has no time for is kept the same way
 * until the next, the partitions one after the other.
 */
export class Offers {
  readonly #now: () => number;
  readonly #soon: (callback: () => void) => void;
  /** partitions that go on in the next turn */
  readonly #late = new Set<Partition>();
  /** the present turn's end; undefined: none has begun */
  #until: number | undefined;

  constructor(private readonly options: OffersOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#soon = options.soon ?? setImmediate;
  }

  /** Offers them in turn; from the first that is refused on they are kept for later, and the partition pauses. */
  all(partition: Partition, messages: readonly FetchedRecord[]): void {
    const until = this.#turn();
    for (const [i, message] of messages.entries()) {
      if (this.#now() >= until) {
        this.#keep(partition, messages.slice(i));
        this.#late.add(partition);
        return;
      }
      const verdict = this.#offer(partition, message);
      if (verdict === 'taken') continue;
      this.#keep(partition, messages.slice(i));
      if (verdict === 'full') return;
      partition.timer = setTimeout(() => {
        partition.timer = undefined;
        this.rest(partition);
      }, verdict.againInMs);
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

  #offer(partition: Partition, message: FetchedRecord): Verdict {
    const record = new TakenRecord(partition, message);
    if (!partition.ledger.take(record.offset)) return 'taken';
    const verdict = this.options.onRecord(record);
    if (verdict === 'taken') record.letGo();
    else partition.ledger.untake(record.offset);
    return verdict;
  }

  #keep(partition: Partition, rest: readonly FetchedRecord[]): void {
    partition.rest = rest;
    this.options.tell('pause', partition);
  }

  /** @returns when the present turn ends; the first call of a turn begins it */
  #turn(): number {
    if (this.#until !== undefined) return this.#until;
    this.#until = this.#now() + TURN_MS;
    this.#soon(() => {
      this.#until = undefined;
      const late = [...this.#late];
      this.#late.clear();
      for (const partition of late) this.rest(partition);
    });
    return this.#until;
  }
}
