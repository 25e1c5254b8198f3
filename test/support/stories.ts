import * as fc from 'fast-check';
import { type DeliveryEvent } from '../../shared/model/attempt-events';
import { type DeliveryStatus, REPLAYED } from '../../shared/model/reasons';
import { aCancellation, aDeath, aFailure, anEvent, at, aUrl, aWait } from './events';

/** Random histories of deliveries for tests: their events, and a naive count of what they say. */

export interface Story {
  events: DeliveryEvent[];
  destination: number;
  status: DeliveryStatus;
  attempts: number;
  failed: number;
}

/** What happens to a delivery, in order. */
type Turn =
  | { kind: 'hold' | 'hand_over' | 'fail' }
  | { kind: 'deliver'; other: 'none' | 'whole' | 'late' | 'fails_late' | 'fails' | 'not_called' }
  | { kind: 'reject' | 'expire' | 'cancel' };

const others = ['none', 'whole', 'late', 'fails_late', 'fails', 'not_called'] as const;
const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.constantFrom<Turn>({ kind: 'hold' }, { kind: 'hand_over' }, { kind: 'fail' }),
  fc.record({ kind: fc.constant('deliver' as const), other: fc.constantFrom(...others) }),
  fc.constantFrom<Turn>({ kind: 'reject' }, { kind: 'expire' }, { kind: 'cancel' }),
);

/** A life of a delivery, and the lives of its replays. */
const lives = fc.array(fc.array(turn, { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 3,
});

class Teller {
  readonly events: DeliveryEvent[] = [];
  status: DeliveryStatus = 'waiting';
  attempts = 0;
  failed = 0;
  #seconds: number;
  #n = 0;
  #hop = 0;
  #replay = 0;

  constructor(
    private readonly id: string,
    private readonly about: { destination: string; start: number },
  ) {
    this.#seconds = about.start;
  }

  tell(turns: readonly Turn[], replay: number): void {
    this.#replay = replay;
    this.#n = this.#hop = 0;
    if (replay > 0) {
      if (this.status !== 'dead' && this.status !== 'cancelled') return;
      this.#add(aWait({ ...this.#common(), reason: REPLAYED }));
      this.status = 'waiting';
    }
    for (const each of turns) if (this.#take(each)) return;
  }

  #common() {
    const { destination, start } = this.about;
    const common = {
      delivery: this.id,
      destination,
      acceptedAt: at(start),
      at: at(++this.#seconds),
    };
    return { ...common, replay: this.#replay, hop: this.#hop };
  }

  #add(...events: DeliveryEvent[]): void {
    this.events.push(...events);
  }

  /** @returns whether the delivery has ended */
  #take(given: Turn): boolean {
    const common = this.#common();
    this.#hop++;
    switch (given.kind) {
      case 'hold':
        this.#add(aWait({ ...common, n: this.#n, reason: 'circuit_open' }));
        this.status = 'held';
        return false;
      case 'hand_over':
        this.#add(aWait({ ...common, n: this.#n, reason: 'handed_over' }));
        this.status = this.#n > 0 ? 'retrying' : 'waiting';
        return false;
      case 'cancel':
        this.#add(aCancellation({ ...common, n: this.#n }));
        this.status = 'cancelled';
        return true;
      case 'expire':
        this.#add(aDeath({ ...common, n: this.#n, reason: 'window_closed' }));
        this.status = 'dead';
        return true;
      case 'fail':
        this.#add(aFailure({ ...common, n: this.#attempt('failed') }));
        this.status = 'retrying';
        return false;
      case 'reject': {
        const n = this.#attempt('failed');
        this.#add(
          anEvent({ ...common, n, outcome: 'rejected', reason: 'rejected' }),
          aDeath({ ...common, n }),
        );
        this.status = 'dead';
        return true;
      }
      case 'deliver':
        this.#deliver(given.other, common);
        return true;
    }
  }

  #attempt(result: 'delivered' | 'failed'): number {
    this.attempts++;
    if (result === 'failed') this.failed++;
    return ++this.#n;
  }

  #deliver(other: (typeof others)[number], common: object): void {
    const n = this.#attempt('delivered');
    const second = aUrl({
      url: 'whk_2',
      outcome: other.startsWith('fails') ? 'retry' : 'delivered',
    });
    const inTime = other === 'whole' || other === 'fails' ? [second] : [];
    const notCalled = other === 'not_called' ? { notCalled: ['whk_2'] } : {};
    this.#add(anEvent({ ...common, n, urls: [...inTime, aUrl()], ...notCalled }));
    if (other === 'late' || other === 'fails_late') {
      this.#add(anEvent({ ...common, n, late: true, urls: [second] }));
    }
    this.status = ['fails', 'fails_late', 'not_called'].includes(other)
      ? 'partly_delivered'
      : 'delivered';
  }
}

/** @param destinations ids */
function tell(
  id: string,
  told: Turn[][],
  { destination, start }: { destination: string; start: number },
) {
  const teller = new Teller(id, { destination, start });
  told.forEach((turns, replay) => teller.tell(turns, replay));
  return teller;
}

export interface RandomHistory {
  stories: Story[];
  /** all events in batches, the events of a delivery in order, and some of them again */
  batches: DeliveryEvent[][];
}

/** @param destinations their ids */
export function randomHistory(destinations: readonly string[]): fc.Arbitrary<RandomHistory> {
  const one = fc.record({
    destination: fc.nat(destinations.length - 1),
    start: fc.nat(600),
    told: lives,
  });
  return fc
    .record({
      all: fc.array(one, { minLength: 1, maxLength: 12 }),
      order: fc.array(fc.nat(), { maxLength: 200 }),
    })
    .map(({ all, order }) => {
      const stories = all.map(({ destination, start, told }, i): Story => {
        const { events, status, attempts, failed } = tell(`dlv_${String(i)}`, told, {
          destination: destinations[destination] ?? '',
          start,
        });
        return { events, destination, status, attempts, failed };
      });
      return { stories, batches: batchesOf(stories, order) };
    });
}

/**
 * Merges the events by the numbers of `order`: each chooses a delivery, and whether the event comes
 * again or ends a batch.
 */
function batchesOf(stories: readonly Story[], order: readonly number[]): DeliveryEvent[][] {
  const left = stories.map(({ events }) => [...events]);
  const batches: DeliveryEvent[][] = [[]];
  const told: DeliveryEvent[] = [];
  for (let i = 0; left.some((events) => events.length > 0); i++) {
    const number = order[i % Math.max(1, order.length)] ?? 0;
    const open = left.filter((events) => events.length > 0);
    const event = open[(number + i) % open.length]?.shift();
    if (!event) break;
    told.push(event);
    batches.at(-1)?.push(event);
    const again = told[number % told.length];
    if (number % 3 === 0 && again) batches.at(-1)?.push(again);
    if (number % 5 === 0) batches.push([]);
  }
  return batches.filter((batch) => batch.length > 0);
}
