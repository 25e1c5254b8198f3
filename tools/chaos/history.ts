import {
  type AttemptEvent,
  type CircuitEvent,
  type DeliveryEvent,
} from '../../shared/model/attempt-events';

import { isKept } from './scenario';

/** The records in Kafka about the outcome of deliveries, aggregated while they are read. */

/** Counts of each recorded end of a delivery; a repeat records its end again. */
export interface Ends {
  delivered: number;
  dead: number;
  cancelled: number;
  /** when its cancellation was written, ms since 1970 */
  cancelledAt?: number;
  /** events of any kind */
  events: number;
  deadReason?: string;
  /** the reason in its dead letter */
  letter?: string;
}

/** An attempt of a watched delivery. */
export interface Attempt {
  /** when it ended, and when Kafka stored its outcome, ms since 1970 */
  at: number;
  recordedAt: number;
  n: number;
  hop: number;
  outcome: string;
  /** topic/partition/offset */
  record: string;
  error: string;
}

/** A record of a watched delivery in a tier topic. */
export interface TierRecord {
  /** waits begun, this one included */
  hop: number;
  /** attempts made before it; as many as before the copied record if the delivery was diverted */
  attempts: number;
  /** when Kafka stored it, ms since 1970 */
  writtenAt: number;
  /** end of its window, ms since 1970 */
  expiresAt: number;
}

/** The deliveries of a destination. */
export interface Totals {
  /** those with an event; whether the user is never deleted */
  deliveries: Map<string, boolean>;
  delivered: number;
  /** of these, to users who are never deleted */
  deliveredOfKept: number;
}

export class History {
  readonly #ends = new Map<string, Ends>();
  readonly #attempts = new Map<string, Attempt[]>();
  readonly #tierRecords = new Map<string, TierRecord[]>();
  /** by destination */
  readonly #totals = new Map<string, Totals>();
  /** number of copies of each message in `messages` */
  readonly #copies = new Map<string, number>();

  /** @param watched deliveries whose attempts are kept individually */
  constructor(private readonly watched: ReadonlySet<string> = new Set()) {}

  event(event: DeliveryEvent | CircuitEvent, recordedAt: number): void {
    // A circuit event names no delivery.
    if (event.kind === 'circuit') return;
    const ends = this.#of(event.delivery);
    const totals = this.#totalsOf(event.destination);
    const isOfKept = isKept(event.userId);
    if (ends.events++ === 0) totals.deliveries.set(event.delivery, isOfKept);
    if (event.kind === 'dead') {
      ends.dead++;
      ends.deadReason = event.reason;
    } else if (event.kind === 'cancelled') {
      ends.cancelled++;
      ends.cancelledAt = Math.min(ends.cancelledAt ?? recordedAt, recordedAt);
    } else if (event.kind === 'attempt' && !event.late) {
      if (event.outcome === 'delivered' && ends.delivered++ === 0) {
        totals.delivered++;
        if (isOfKept) totals.deliveredOfKept++;
      }
      if (this.watched.has(event.delivery)) this.#watch(event, recordedAt);
    }
  }

  letter(delivery: string, reason: string): void {
    this.#of(delivery).letter = reason;
  }

  /** Adds a record of a tier topic. */
  tierRecord(delivery: string, record: TierRecord): void {
    if (!this.watched.has(delivery)) return;
    const list = this.#tierRecords.get(delivery);
    if (list) list.push(record);
    else this.#tierRecords.set(delivery, [record]);
  }

  message(messageId: string): void {
    this.#copies.set(messageId, (this.#copies.get(messageId) ?? 0) + 1);
  }

  totalsOf(destination: string): Readonly<Totals> {
    return this.#totalsOf(destination);
  }

  endsOf(delivery: string): Ends | undefined {
    return this.#ends.get(delivery);
  }

  attemptsOf(delivery: string): Attempt[] {
    return this.#attempts.get(delivery) ?? [];
  }

  /** Returns the records of a watched delivery in the tier topics. */
  tierRecordsOf(delivery: string): TierRecord[] {
    return this.#tierRecords.get(delivery) ?? [];
  }

  /** Returns how often a message is in `messages`: clients sent the copies beyond the first. */
  copiesOf(messageId: string): number {
    return this.#copies.get(messageId) ?? 0;
  }

  #totalsOf(destination: string): Totals {
    let totals = this.#totals.get(destination);
    if (!totals) {
      totals = { deliveries: new Map(), delivered: 0, deliveredOfKept: 0 };
      this.#totals.set(destination, totals);
    }
    return totals;
  }

  #of(delivery: string): Ends {
    let ends = this.#ends.get(delivery);
    if (!ends) {
      this.#ends.set(delivery, (ends = { delivered: 0, dead: 0, cancelled: 0, events: 0 }));
    }
    return ends;
  }

  #watch(event: AttemptEvent, recordedAt: number): void {
    const { topic, partition, offset } = event.record;
    const { n, hop, outcome } = event;
    const error = event.urls.map((url) => url.error?.code ?? '').join();
    const attempt = {
      at: Date.parse(event.at),
      recordedAt,
      n,
      hop,
      outcome,
      record: `${topic}/${partition}/${offset}`,
      error,
    };
    const list = this.#attempts.get(event.delivery);
    if (list) list.push(attempt);
    else this.#attempts.set(event.delivery, [attempt]);
  }
}
