import { type CircuitEvent, type DeliveryEvent } from '../../../shared/model/attempt-events';
import { readEvents } from '../../../shared/model/attempt-rows';
import { timeOf } from '../../../shared/model/time';
import { type InRecord } from '../../../shared/kafka/port';
import { isId } from './stored-id';

/** Reads the records of `attempts` for the history. Pure. */

export type Event = DeliveryEvent | CircuitEvent;

/** Most that the clock of ingest may be ahead of the broker's. */
const MAX_AHEAD_MS = 86_400_000;

const KINDS: ReadonlySet<unknown> = new Set(['attempt', 'waiting', 'dead', 'cancelled', 'circuit']);

export function parseEvents({
  value,
  timestampMs,
}: Pick<InRecord, 'value' | 'timestampMs'>): (Event | undefined)[] {
  try {
    return readEvents(value).map((event) => (isUsable(event, timestampMs) ? event : undefined));
  } catch {
    return [undefined];
  }
}

/** Checks the fields that the history relies on. @throws TypeError for some that are missing */
function isUsable(event: Event, timestampMs: number): boolean {
  if (!KINDS.has(event.kind) || !isId(event.destination) || !isTime(event.at)) return false;
  if (event.kind === 'circuit') return isId(event.url);
  const { delivery, message, source, type, acceptedAt, expiresAt, replay, hop, n, record } = event;
  const { topic, partition, offset } = record;
  const haveTexts = isId(delivery) && isId(message) && isId(source) && isId(type) && isId(topic);
  const isInteger = (value: unknown) => Number.isInteger(value);
  const haveNumbers =
    isInteger(replay) &&
    isInteger(hop) &&
    isInteger(n) &&
    isInteger(partition) &&
    isInteger(offset);
  if (!haveTexts || !haveNumbers || !isTime(acceptedAt) || !isTime(expiresAt)) return false;
  // Each day has its table: retention would never drop a table of the year 9999.
  return timeOf(acceptedAt) <= timestampMs + MAX_AHEAD_MS;
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(timeOf(value));
}
