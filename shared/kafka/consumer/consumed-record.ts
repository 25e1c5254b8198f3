import { type FetchedRecord } from '../protocol/batch';
import { type OpenRecord } from '../port';
import { type Partition } from './partition';

/** A record as the handler sees it: the fetched data, and the partition that tracks its completion. */
export class ConsumedRecord implements OpenRecord {
  readonly offset: number;
  #fetched: FetchedRecord | undefined;

  constructor(
    private readonly owner: Partition,
    fetched: FetchedRecord,
  ) {
    this.#fetched = fetched;
    this.offset = fetched.offset;
  }

  get topic(): string {
    return this.owner.topic;
  }
  get partition(): number {
    return this.owner.number;
  }
  get timestampMs(): number {
    return this.#part.timestamp;
  }
  get key(): Buffer | null {
    return this.#part.key;
  }
  get value(): Buffer | null {
    return this.#part.value;
  }
  get headers(): Readonly<Record<string, string | undefined>> {
    return this.#part.headers;
  }
  get isRevoking(): boolean {
    return this.owner.draining;
  }
  done(): void {
    this.owner.offsets.done(this.offset);
  }
  handBack(): boolean {
    return this.owner.release(this.offset);
  }
  defer(): void {
    this.owner.offsets.release(this.offset);
  }

  /** Drops the fetched data. A record that stays open for long must not keep a whole fetch in memory. */
  letGo(): void {
    this.#fetched = undefined;
  }

  get #part(): FetchedRecord {
    if (!this.#fetched) throw new Error('a record is read after it was accepted: copy the parts that are needed later');
    return this.#fetched;
  }
}
