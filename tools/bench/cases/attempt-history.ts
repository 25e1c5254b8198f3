import { type Kafka } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { readEvents } from '../../../shared/model/attempt-rows';
import { type CircuitEvent, type DeliveryEvent } from '../../../shared/model/attempt-events';

/** Reads the topic `attempts` after a benchmark. */

const CAUGHT_UP_MS = 60_000;

export interface History {
  /** number of waits before delivery, by delivery id */
  hops: Map<string, number>;
  circuits: CircuitEvent[];
}

/** Reads the whole topic. */
export async function readHistory(kafka: Kafka): Promise<History> {
  const history: History = { hops: new Map(), circuits: [] };
  const tail = await kafka.tail({
    name: 'bench-history',
    topic: ATTEMPTS,
    from: 'beginning',
    onRecord: ({ value }) => {
      if (value) for (const event of readEvents(value)) note(history, event);
    },
    // Then it does not catch up, and the deadline reports that.
    onFatal: () => undefined,
  });
  try {
    await tail.caughtUp(CAUGHT_UP_MS);
  } finally {
    await tail.stop();
  }
  return history;
}

/** Pure, except that it changes the history. */
export function note(history: History, event: DeliveryEvent | CircuitEvent): void {
  if (event.kind === 'circuit') history.circuits.push(event);
  else if (event.kind === 'attempt' && event.outcome === 'delivered') {
    history.hops.set(event.delivery, event.hop);
  }
}
