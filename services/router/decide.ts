import { type ConfigView } from '../../shared/config/view';
import { renderBody } from '../../shared/domain/body';
import { DEFAULT_SHARDS, type Destination } from '../../shared/domain/config';
import { deliveryId, deliveryKey, encodeDelivery, type Delivery } from '../../shared/domain/delivery';
import { MESSAGE_FORMAT, MESSAGE_TYPES, type Message } from '../../shared/domain/message';
import { route } from '../../shared/domain/route';
import { type OutRecord } from '../../shared/kafka/port';
import { WEBHOOKS } from '../../shared/kafka/topics';

/** What a record of `messages` becomes: pure. */

/** What the router needs to know: no clock and no Kafka. */
export interface Routing {
  config: Pick<ConfigView, 'source' | 'destinationsOf'>;
  /** how long after acceptance a delivery is retried */
  windowMs: number;
}

/** The headers of a record of `messages`. */
export interface Head {
  kind: 'message';
  sourceId: string;
  messageId: string;
  /** ms since 1970 */
  acceptedAt: number;
  traceparent: string;
}

/** This record cannot be read, and never will be: it goes aside. */
interface Rejected {
  kind: 'rejected';
  reason: string;
}

export type HeadDecision = Head | Rejected | { kind: 'newer'; format: string };

type RawHeaders = Readonly<Record<string, string | undefined>>;

/** Reads the headers, which is all that is needed to know a duplicate. */
export function readHead(headers: RawHeaders): HeadDecision {
  const format = headers.format ?? '';
  if (Number(format) > MESSAGE_FORMAT) return { kind: 'newer', format };
  if (format !== String(MESSAGE_FORMAT)) return rejected(`its header format is "${format.slice(0, 20)}"`);
  const sourceId = headers.source;
  const messageId = headers.message;
  if (!sourceId || !messageId) return rejected('its header source or message is missing');
  const acceptedAt = Number(headers['accepted-at']);
  if (!(acceptedAt > 0 && acceptedAt < Infinity)) return rejected('its header accepted-at is not a time');
  return { kind: 'message', sourceId, messageId, acceptedAt, traceparent: headers.traceparent ?? '' };
}

export type Decision =
  | { kind: 'deliver'; records: OutRecord[] }
  | { kind: 'dropped'; reason: 'no_destination' }
  /** not known here (yet): the caller must look again before it drops what was accepted */
  | { kind: 'unknown_source' }
  | Rejected;

/** @param value the message, JSON */
export function decide(head: Head, value: Buffer | null, routing: Routing): Decision {
  const message = parseMessage(value);
  if (typeof message === 'string') return rejected(message);
  const source = routing.config.source(head.sourceId);
  if (!source) return { kind: 'unknown_source' };
  const connected = routing.config.destinationsOf(head.sourceId).map((entry) => entry.data);
  const destinations = route(message, source.data, connected);
  if (destinations.length === 0) return { kind: 'dropped', reason: 'no_destination' };
  // One body for all of them: rendered once, never again.
  const body = Buffer.from(renderBody(message));
  const expiresAt = head.acceptedAt + routing.windowMs;
  return {
    kind: 'deliver',
    records: destinations.map((destination) => deliveryRecord({ head, message, expiresAt }, destination, body)),
  };
}

function deliveryRecord(
  from: { head: Head; message: Message; expiresAt: number },
  destination: Destination,
  body: Buffer,
): OutRecord {
  const { head, message, expiresAt } = from;
  const delivery: Delivery = {
    id: deliveryId(head.sourceId, head.messageId, destination.id),
    messageId: head.messageId,
    sourceId: head.sourceId,
    destinationId: destination.id,
    type: message.type,
    acceptedAt: head.acceptedAt,
    expiresAt,
    attempt: 0,
    hop: 0,
    replay: 0,
    closed: [],
    traceparent: head.traceparent,
  };
  if (message.userId !== undefined) delivery.userId = message.userId;
  const user = message.userId ?? message.anonymousId ?? head.messageId;
  const key = deliveryKey(destination.id, user, destination.shards ?? DEFAULT_SHARDS);
  return { topic: WEBHOOKS, key, value: body, headers: encodeDelivery(delivery) };
}

/** @returns the message, or what is wrong with it. Checked is what is relied on here; ingest checked the rest. */
function parseMessage(value: Buffer | null): Message | string {
  if (value === null) return 'it has no value';
  let parsed: unknown;
  try {
    parsed = JSON.parse(value.toString());
  } catch {
    return 'its value is not JSON';
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'its value is not an object';
  const message = parsed as Partial<Record<keyof Message, unknown>>;
  if (!(MESSAGE_TYPES as readonly unknown[]).includes(message.type)) return 'its type is not known';
  for (const name of ['messageId', 'timestamp'] as const) {
    if (typeof message[name] !== 'string') return `its ${name} is not a text`;
  }
  for (const name of ['userId', 'anonymousId'] as const) {
    if (message[name] !== undefined && typeof message[name] !== 'string') return `its ${name} is not a text`;
  }
  return parsed as Message;
}

function rejected(reason: string): Rejected {
  return { kind: 'rejected', reason };
}
