import { type FetchedRecord } from '../protocol/batch';
import { ConsumedRecord, type Partition } from './partition';
import { type OpenRecord, type DispatchResult } from '../port';

/**
 * What records get of one turn of the event loop, ms. A fetch of a megabyte may begin a thousand requests, a tenth of a
 * second's work: what has been answered meanwhile must not wait for all of it.
 */
const TURN_MS = 5;

export interface DispatcherOptions {
  onRecord: (record: OpenRecord) => DispatchResult;
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
export class Dispatcher {
  readonly #now: () => number;
  readonly #soon: (callback: () => void) => void;
  /** partitions that go on in the next turn */
  readonly #late = new Set<Partition>();
  /** the present turn's end; undefined: none has begun */
  #until: number | undefined;

  constructor(private readonly options: DispatcherOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#soon = options.soon ?? setImmediate;
  }

  /** Offers them in turn; from the first that is refused on they are kept for later, and the partition pauses. */
  dispatch(partition: Partition, messages: readonly FetchedRecord[]): void {
    const until = this.#turn();
    for (const [i, message] of messages.entries()) {
      if (this.#now() >= until) {
        this.#keep(partition, messages.slice(i));
        this.#late.add(partition);
        return;
      }
      const verdict = this.#offer(partition, message);
      if (verdict === 'accepted') continue;
      this.#keep(partition, messages.slice(i));
      if (verdict === 'busy') return;
      partition.timer = setTimeout(() => {
        partition.timer = undefined;
        this.dispatchBuffered(partition);
      }, verdict.againInMs);
      return;
    }
  }

  dispatchBuffered(partition: Partition): void {
    const { buffered } = partition;
    if (!buffered || this.options.stopping()) return;
    partition.buffered = undefined;
    this.dispatch(partition, buffered);
    if (!partition.waits) this.options.tell('resume', partition);
  }

  #offer(partition: Partition, message: FetchedRecord): DispatchResult {
    const record = new ConsumedRecord(partition, message);
    if (!partition.offsets.take(record.offset)) return 'accepted';
    const verdict = this.options.onRecord(record);
    if (verdict === 'accepted') record.letGo();
    else partition.offsets.unread(record.offset);
    return verdict;
  }

  #keep(partition: Partition, rest: readonly FetchedRecord[]): void {
    partition.buffered = rest;
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
      for (const partition of late) this.dispatchBuffered(partition);
    });
    return this.#until;
  }
}
