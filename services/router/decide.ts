import { type ConfigView } from '../../shared/config/view';
import { renderBody } from '../../shared/domain/body';
import { encodeDelivery } from '../../shared/domain/delivery';
import { firstDelivery, type Head, parseMessage, windowStart, type Rejected } from '../../shared/domain/message-record';
import { route, type Routed } from '../../shared/domain/route';
import { filtersOf } from '../../shared/expression/filter';
import { type OutRecord } from '../../shared/kafka/port';
import { WEBHOOKS } from '../../shared/kafka/topics';

/** What a record of `messages` becomes: pure. */

/** What the router needs to know: no clock and no Kafka. */
export interface Routing {
  config: Pick<ConfigView, 'source' | 'destination' | 'destinationsOf'>;
  /** how long after acceptance a delivery is retried */
  windowMs: number;
}

export type Decision =
  | { kind: 'deliver'; records: OutRecord[]; filters: Filters }
  | { kind: 'dropped'; reason: 'no_destination' | 'blocked' | 'filtered'; filters: Filters }
  /** not known here (yet): the caller must look again before it drops what was accepted */
  | { kind: 'unknown_source' }
  /** it cannot be read, and never will be: it goes aside */
  | Rejected;

/** What filters kept back, and which of them failed. */
export type Filters = Pick<Routed, 'filtered' | 'failed'>;

/** @param value the message, JSON */
export function decide(head: Head, value: Buffer | null, routing: Routing): Decision {
  const message = parseMessage(value);
  if (typeof message === 'string') return rejected(message);
  const source = routing.config.source(head.sourceId);
  if (!source) return { kind: 'unknown_source' };
  const connected = routing.config.destinationsOf(head.sourceId).map((entry) => entry.data);
  const asked = connected.reduce((count, { filter }) => (filter === undefined ? count : count + 1), 0);
  const { destinations, blocked, ...filters } = route(message, source.data, connected, filtersOf(message, asked));
  if (blocked) return { kind: 'dropped', reason: 'blocked', filters };
  if (destinations.length === 0) {
    return { kind: 'dropped', reason: filters.filtered > 0 ? 'filtered' : 'no_destination', filters };
  }
  // One body for all of them: rendered once, never again.
  const body = Buffer.from(renderBody(message));
  const expiresAt = windowStart(head) + routing.windowMs;
  return {
    kind: 'deliver',
    filters,
    records: destinations.map((destination) => {
      const version = routing.config.destination(destination.id)?.version;
      return deliveryRecord({ head, message, expiresAt, destination, ...(version !== undefined && { version }) }, body);
    }),
  };
}

function deliveryRecord(from: Parameters<typeof firstDelivery>[0], body: Buffer): OutRecord {
  const { delivery, key } = firstDelivery(from);
  return { topic: WEBHOOKS, key, value: body, headers: encodeDelivery(delivery) };
}

function rejected(reason: string): Rejected {
  return { kind: 'rejected', reason };
}
