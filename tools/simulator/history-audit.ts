import { applyEvent, type DeliveryRow } from '../../services/control/history/delivery-row';
import { countsOf } from '../../services/control/history/minute-counts';
import { type DeliveryEvent } from '../../shared/model/attempt-events';

/**
 * What control's history shows at the end: each event of `attempts` is applied as control does it,
 * and once more, later, as after a crash of control.
 */

const AGAIN_AFTER = 5;
const ENDS = ['delivered', 'dead', 'cancelled'] as const;

export class HistoryAudit {
  /** by the key of a row */
  readonly #rows = new Map<string, DeliveryRow>();
  readonly #counts = new Map<string, number>();
  readonly #deliveries = new Set<string>();
  /** how each delivery has ended the last time */
  readonly #ends = new Map<string, (typeof ENDS)[number]>();
  readonly #again: DeliveryEvent[] = [];

  event(event: DeliveryEvent): void {
    this.#deliveries.add(event.delivery);
    this.#apply(event);
    this.#again.push(event);
    const earlier = this.#again.length > AGAIN_AFTER ? this.#again.shift() : undefined;
    if (earlier) this.#apply(earlier);
  }

  ended(delivery: string, how: (typeof ENDS)[number]): void {
    this.#ends.set(delivery, how);
  }

  /** A delivery that had ended begins anew. */
  begunAnew(delivery: string): void {
    this.#ends.delete(delivery);
  }

  /** Returns what is wrong at the end of a run. */
  problems(): string[] {
    const problems: string[] = [];
    // After a crash control reads events again, and a row shows an older state until the last one.
    for (const event of this.#again.splice(0)) this.#apply(event);
    if (this.#rows.size > this.#deliveries.size) problems.push('a row of the history twice');
    for (const what of ENDS) {
      const ended = [...this.#ends.values()].filter((how) => how === what).length;
      if ((this.#counts.get(what) ?? 0) !== ended) problems.push(`${what}, and not counted so`);
    }
    return problems;
  }

  #apply(event: DeliveryEvent): void {
    const key = `${event.acceptedAt} ${event.delivery}`;
    const before = this.#rows.get(key);
    const after = applyEvent(before, event);
    this.#rows.set(key, after);
    for (const { what, count } of countsOf(before, after)) {
      this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
    }
  }
}
