import { type CircuitEvent, type DeliveryEvent } from '../../../shared/model/attempt-events';
import { type OpenRecord } from '../../../shared/kafka/port';

/** An event in a record of `attempts`. */
export type Event = DeliveryEvent | CircuitEvent;

const MAX_ID_CHARACTERS = 256;
/** Most that the clock of ingest may be ahead of the broker's. */
const MAX_AHEAD_MS = 86_400_000;

const KINDS: ReadonlySet<unknown> = new Set(['attempt', 'waiting', 'dead', 'cancelled', 'circuit']);

/** Checks the fields that the history relies on. Returns undefined if the record cannot be used. */
export function parseEvent({ value, timestampMs }: OpenRecord): Event | undefined {
  try {
    const event = JSON.parse(value?.toString() ?? '') as Event;
    if (!KINDS.has(event.kind) || !isId(event.destination) || !isTime(event.at)) return undefined;
    if (event.kind === 'circuit') return isId(event.url) ? event : undefined;
    const { delivery, message, source, type, acceptedAt, expiresAt, replay, hop, n, record } = event;
    const texts = [delivery, message, source, type, record.topic].every(isId);
    const numbers = [replay, hop, n, record.partition, record.offset].every((each) => Number.isInteger(each));
    if (!texts || !numbers || !isTime(acceptedAt) || !isTime(expiresAt)) return undefined;
    // Each day has its table: retention would never drop a table of the year 9999.
    return Date.parse(acceptedAt) <= timestampMs + MAX_AHEAD_MS ? event : undefined;
  } catch {
    return undefined;
  }
}

/** Ids that Waypost generates are far shorter. Ids are indexed, and the size of an index row is limited. */
function isId(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_ID_CHARACTERS;
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
