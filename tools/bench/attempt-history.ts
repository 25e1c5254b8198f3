import { type CircuitEvent, type DeliveryEvent } from '../../shared/model/attempt-events';
import { type Kafka } from '../../shared/kafka/port';
import { ATTEMPTS } from '../../shared/kafka/topics';

/** What topic `attempts` tells of a benchmark. */

const CAUGHT_UP_MS = 60_000;

export interface History {
  /** waits before it was delivered, by delivery id */
  hops: Map<string, number>;
  circuits: CircuitEvent[];
}

/** All of it. */
export async function readHistory(kafka: Kafka): Promise<History> {
  const history: History = { hops: new Map(), circuits: [] };
  const tail = await kafka.tail({
    name: 'bench-history',
    topic: ATTEMPTS,
    from: 'beginning',
    onRecord: ({ value }) => {
      if (value) note(history, JSON.parse(value.toString()) as DeliveryEvent | CircuitEvent);
    },
    // Then it does not catch up, which is said.
    onFatal: () => undefined,
  });
  try {
    await tail.caughtUp(CAUGHT_UP_MS);
  } finally {
    await tail.stop();
  }
  return history;
}

/** Pure but for the history. */
export function note(history: History, event: DeliveryEvent | CircuitEvent): void {
  if (event.kind === 'circuit') history.circuits.push(event);
  else if (event.kind === 'attempt' && event.outcome === 'delivered') history.hops.set(event.delivery, event.hop);
}
