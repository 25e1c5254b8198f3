import { type KafkaMessage } from 'kafkajs';
import { Ledger } from './ledger';
import { type OpenRecord } from './port';

/**
 * One partition while it is this process's: its ledger, and why it is not being read.
 *
 * Invariant: once `revoked`, nothing of it is dispatched or committed any more; its records in flight run to their end
 * and their `done` changes nothing.
 */
export class Partition {
  revoked = false;
  /** refused with `full`: read again at the next `resume` */
  full = false;
  /** refused until a time */
  timer: NodeJS.Timeout | undefined;
  /** the offset committed last */
  committed: number;
  readonly ledger: Ledger;

  constructor(
    readonly topic: string,
    readonly number: number,
    start: number,
  ) {
    this.ledger = new Ledger(start);
    this.committed = start;
  }

  revoke(): void {
    this.revoked = true;
    clearTimeout(this.timer);
  }

  /** What must be committed, or undefined where nothing has changed. */
  get toCommit(): number | undefined {
    return this.ledger.committable > this.committed ? this.ledger.committable : undefined;
  }
}

/** A record as the handler sees it: the message of kafkajs and the partition that waits for its end. */
export class TakenRecord implements OpenRecord {
  readonly offset: number;

  constructor(
    private readonly owner: Partition,
    private readonly message: KafkaMessage,
  ) {
    this.offset = Number(message.offset);
  }

  get topic(): string {
    return this.owner.topic;
  }
  get partition(): number {
    return this.owner.number;
  }
  get timestampMs(): number {
    return Number(this.message.timestamp);
  }
  get key(): Buffer | null {
    return this.message.key;
  }
  get value(): Buffer | null {
    return this.message.value;
  }
  get headers(): Readonly<Record<string, Buffer | undefined>> {
    return (this.message.headers ?? NO_HEADERS) as Record<string, Buffer | undefined>;
  }
  done(): void {
    this.owner.ledger.done(this.offset);
  }
}

const NO_HEADERS: Readonly<Record<string, Buffer | undefined>> = {};
