import { sleep } from '../../runtime/async';

/** The part of a decoded response that counts its records. */
interface Fetched {
  responses: { partitions: { messages: unknown[] }[] }[];
}

/**
 * Least ms between the starts of two fetches: after few records, which somebody waits for, and
 * after many, when throughput counts.
 */
const FETCH_SPACE_MS = { few: 2, many: 5 };
const MANY_RECORDS = 16;

/**
 * Spaces out the fetches of one consumer from one broker. A broker answers a fetch as soon as it
 * has
 * one record. Without a pause, a consumer of 2,000 records a second makes a thousand fetches a
 * second, which cost more than the records. A consumer that has waited for longer than the space
 * (an idle one) is not delayed.
 */
export class FetchThrottle {
  #startedAt = -Infinity;
  #spaceMs = FETCH_SPACE_MS.few;

  /** Registers a fetch. @returns the ms that it has to wait; it counts as started afterwards */
  wait(nowMs: number): number {
    const waitMs = Math.max(0, this.#startedAt + this.#spaceMs - nowMs);
    this.#startedAt = nowMs + waitMs;
    return waitMs;
  }

  /** Notes how many records a fetch brought. */
  noteRecords(records: number): void {
    this.#spaceMs = records < MANY_RECORDS ? FETCH_SPACE_MS.few : FETCH_SPACE_MS.many;
  }
}

/** kafkajs has one Broker for each consumer and node, with one fetch at a time. */
const throttles = new WeakMap<object, FetchThrottle>();

/** Fetches once it is this consumer's turn. */
export async function fetchInTurn(broker: object, send: () => Promise<unknown>): Promise<unknown> {
  let throttle = throttles.get(broker);
  if (!throttle) throttles.set(broker, (throttle = new FetchThrottle()));
  const waitMs = throttle.wait(performance.now());
  if (waitMs > 0) await sleep(waitMs);
  const response = await send();
  throttle.noteRecords(recordsIn(response as Fetched));
  return response;
}

function recordsIn({ responses }: Fetched): number {
  let records = 0;
  for (const { partitions } of responses) {
    for (const { messages } of partitions) records += messages.length;
  }
  return records;
}
