import { type CircuitEvent, type DeliveryEvent } from '../../../shared/domain/attempt';
import { type OpenRecord } from '../../../shared/kafka/port';

/** What a record of `attempts` says. */
export type Event = DeliveryEvent | CircuitEvent;

const KINDS: ReadonlySet<unknown> = new Set(['attempt', 'waiting', 'dead', 'cancelled', 'circuit']);

/** As much as the history relies on is checked; undefined where it cannot be used. */
export function parseEvent({ value }: OpenRecord): Event | undefined {
  try {
    const event = JSON.parse(value?.toString() ?? '') as Event;
    if (!KINDS.has(event.kind) || typeof event.destination !== 'string' || !isTime(event.at)) return undefined;
    if (event.kind === 'circuit') return event;
    const { delivery, message, source, type, acceptedAt, expiresAt, replay, hop, n, record } = event;
    const texts = [delivery, message, source, type, record.topic].every((text) => typeof text === 'string');
    const numbers = [replay, hop, n, record.partition, record.offset].every((each) => Number.isInteger(each));
    return texts && numbers && isTime(acceptedAt) && isTime(expiresAt) ? event : undefined;
  } catch {
    return undefined;
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
