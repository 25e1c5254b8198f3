import { createHash } from 'node:crypto';
import { MESSAGE_TYPES, type MessageType } from './message';
import { FORMAT_HEADER, newerFormatOf } from './record-format';
import { type Method, METHODS } from './request-settings';

/**
 * One message for one destination, as encoded in the headers of records on `webhooks`,
 * `webhooks.retry.*`, `webhooks.due` and `webhooks.dead`. The value of these records is the exact
 * body, and is never changed.
 */
export interface Delivery {
  id: string;
  messageId: string;
  sourceId: string;
  destinationId: string;
  /** `config` version of the destination that it was made for; absent: an alert or a test */
  destinationVersion?: number;
  type: MessageType;
  /** of the request; absent: POST */
  method?: Method;
  /** of the body; absent: application/json */
  contentType?: string;
  /** rendered headers: alternating names and values */
  headers?: string[];
  /** name of the track call, page or screen (`eventNameOf`), for the history */
  event?: string;
  /** for the history, so that the body need not be parsed again */
  userId?: string;
  /** of a message without `userId`; the history is purged by it */
  anonymousId?: string;
  /** ms since 1970 */
  acceptedAt: number;
  /**
   * ms since 1970; afterwards nothing is sent, except one try for a delivery that waited only for
   * Waypost
   */
  expiresAt: number;
  /** attempts already made */
  attempt: number;
  /**
   * further attempts, in batches that were rejected and halved; the retry plan does not count them
   */
  halved?: number;
  /**
   * waits already begun, with or without an attempt; with `attempt` and `replay` it identifies this
   * record
   */
  hop: number;
  /** number of the replay that it belongs to; 0: none */
  replay: number;
  /** hashes (urlHash) of the webhooks that it is not sent to: they refused it, or were left out */
  excludedUrls: string[];
  /**
   * ms since 1970: time of the next attempt, if the wait outlasts its tier
   */
  notBefore?: number;
  /**
   * ms since 1970, in a tier: when its record leaves it. Retry returns it then, and delivery takes
   * none that comes back earlier
   */
  due?: number;
  /** its window is over, and one try is still due: it had waited for Waypost alone */
  final?: boolean;
  /** a test: attempted once, whether the destination is on or off, and never retried */
  test?: boolean;
  /**
   * reason of its last wait (`RetryReason`, `DivertReason`) or of its end (`DeadReason`); another
   * version may have written others
   */
  reason?: string;
  /** why its record left a tier early (`RecallAction`); its next record does not have it */
  recalled?: string;
  /** the last failure, one short line without secrets */
  error?: string;
  traceparent: string;
  /** id of the span of its last step, if its trace is recorded; the next span links to it */
  span?: string;
}

/**
 * Returns the delivery's id, derived from source, message and destination, and therefore the same
 * on every try.
 */
export function deliveryId(sourceId: string, messageId: string, destinationId: string): string {
  const digest = createHash('sha256')
    .update(`${sourceId}\0${messageId}\0${destinationId}`)
    .digest('base64url');
  return `dlv_${digest.slice(0, 27)}`;
}

/**
 * Identifies a webhook and its URL in `excludedUrls`, since both may change while a delivery waits.
 * Two webhooks of a destination may have the same URL, with other headers: one of them may refuse
 * what the other takes.
 */
export function urlHash(webhookId: string, url: string): string {
  return createHash('sha256').update(`${webhookId}\0${url}`).digest('base64url').slice(0, 12);
}

/**
 * Returns the key on every webhooks topic. A destination is spread over its shards by user, and
 * stays in few partitions.
 */
export function deliveryKey(destinationId: string, user: string, shards: number): string {
  return `${destinationId}:${String(fnv1a(user) % shards)}`;
}

/** Returns all keys that deliveries of a destination have. */
export function shardKeys(destinationId: string, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => `${destinationId}:${String(shard)}`);
}

/** 32-bit FNV-1a: a cheap, stable spread. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash >>> 0;
}

/** Returns how many attempts were made since it was sent or replayed. */
export function attemptsMade({ attempt, halved = 0 }: Delivery): number {
  return attempt + halved;
}

/** Encodes the record headers. Defaults are left out, so that a first attempt has few headers. */
export function encodeDelivery(d: Delivery): Record<string, string> {
  const headers: Record<string, string> = {
    format: FORMAT_HEADER,
    delivery: d.id,
    message: d.messageId,
    source: d.sourceId,
    destination: d.destinationId,
    type: d.type,
    'accepted-at': String(d.acceptedAt),
    'expires-at': String(d.expiresAt),
    traceparent: d.traceparent,
  };
  if (d.method !== undefined) headers.method = d.method;
  if (d.contentType !== undefined) headers['content-type'] = d.contentType;
  if (d.headers !== undefined) headers.headers = JSON.stringify(d.headers);
  if (d.event !== undefined) headers.event = d.event;
  if (d.destinationVersion !== undefined) {
    headers['destination-version'] = String(d.destinationVersion);
  }
  // Record headers are UTF-8. A user id may contain anything that JSON allows.
  if (d.userId !== undefined) headers.user = d.userId;
  if (d.anonymousId !== undefined) headers.anonymous = d.anonymousId;
  if (d.attempt > 0) headers.attempt = String(d.attempt);
  if (d.halved) headers.halved = String(d.halved);
  if (d.hop > 0) headers.hop = String(d.hop);
  if (d.replay > 0) headers.replay = String(d.replay);
  if (d.excludedUrls.length > 0) headers.closed = d.excludedUrls.join(',');
  if (d.notBefore !== undefined) headers['not-before'] = String(d.notBefore);
  if (d.due !== undefined) headers.due = String(d.due);
  if (d.final) headers.final = '1';
  if (d.test) headers.test = '1';
  if (d.reason !== undefined) headers.reason = d.reason;
  if (d.recalled !== undefined) headers.recalled = d.recalled;
  if (d.error !== undefined) headers.error = d.error;
  if (d.span !== undefined) headers.span = d.span;
  return headers;
}

/** The result of reading a record's headers. */
export type Decoded =
  | { kind: 'delivery'; delivery: Delivery }
  /** written by a newer version; this process must not change it */
  | { kind: 'newer'; format: string }
  | { kind: 'unreadable'; why: string };

type RawHeaders = Readonly<Record<string, string | undefined>>;

/**
 * Reads the headers of `encodeDelivery`. It never throws, and reports unreadable headers as such.
 */
export function decodeDelivery(headers: RawHeaders): Decoded {
  const text = (name: string) => headers[name];
  const count = (name: string) => {
    const value = headers[name];
    return value === undefined ? 0 : Number(value);
  };
  const newer = newerFormatOf(headers);
  if (newer !== undefined) return { kind: 'newer', format: newer };
  const { format = '' } = headers;
  if (format !== FORMAT_HEADER) {
    return { kind: 'unreadable', why: `the header format is "${format}"` };
  }
  const id = text('delivery');
  const messageId = text('message');
  const sourceId = text('source');
  const destinationId = text('destination');
  const type = text('type') as MessageType | undefined;
  if (!id || !messageId || !sourceId || !destinationId || !type || !MESSAGE_TYPES.includes(type)) {
    return {
      kind: 'unreadable',
      why: 'a header is missing or not known: delivery, message, source, destination or type',
    };
  }
  const [acceptedAt, expiresAt] = [count('accepted-at'), count('expires-at')];
  const [attempt, hop, replay] = [count('attempt'), count('hop'), count('replay')];
  const haveTimes =
    isTime(acceptedAt) &&
    isTime(expiresAt) &&
    isTime(Number(text('not-before') ?? 1)) &&
    isTime(Number(text('due') ?? 1));
  if (!haveTimes || !(attempt >= 0 && hop >= 0 && replay >= 0)) {
    return { kind: 'unreadable', why: 'a header that must be a number is none' };
  }
  const delivery: Delivery = {
    id,
    messageId,
    sourceId,
    destinationId,
    type,
    acceptedAt,
    expiresAt,
    attempt,
    hop,
    replay,
    excludedUrls: text('closed')?.split(',') ?? [],
    traceparent: text('traceparent') ?? '',
  };
  addOptional(delivery, headers);
  if (!addRequest(delivery, headers)) {
    return { kind: 'unreadable', why: 'its header method, content-type or headers is not known' };
  }
  return { kind: 'delivery', delivery };
}

/** Returns whether a `Date` can hold the time, so that it can be written as text. */
export function isTime(ms: number): boolean {
  return ms > 0 && ms <= LATEST_MS;
}
const LATEST_MS = 8.64e15;

/** Adds the fields that were left out at their default. */
function addOptional(delivery: Delivery, headers: RawHeaders): void {
  const { event, user, anonymous, reason, recalled, error, span } = headers;
  if (event !== undefined) delivery.event = event;
  if (user !== undefined) delivery.userId = user;
  if (headers['destination-version']) {
    delivery.destinationVersion = Number(headers['destination-version']);
  }
  if (anonymous !== undefined) delivery.anonymousId = anonymous;
  if (headers['not-before']) delivery.notBefore = Number(headers['not-before']);
  if (headers.due) delivery.due = Number(headers.due);
  if (Number(headers.halved) > 0) delivery.halved = Number(headers.halved);
  if (headers.final) delivery.final = true;
  if (headers.test) delivery.test = true;
  if (reason !== undefined) delivery.reason = reason;
  if (recalled !== undefined) delivery.recalled = recalled;
  if (error !== undefined) delivery.error = error;
  if (span !== undefined) delivery.span = span;
}

/** Adds the differences from the default POST. @returns false if one of them is invalid */
function addRequest(
  delivery: Delivery,
  { method, 'content-type': contentType, headers }: RawHeaders,
): boolean {
  if (method !== undefined) {
    if (!METHODS.includes(method as Method)) return false;
    delivery.method = method as Method;
  }
  if (contentType !== undefined) delivery.contentType = contentType;
  if (headers === undefined) return true;
  const list = parsed(headers);
  if (
    !Array.isArray(list) ||
    list.length % 2 === 1 ||
    !list.every((item) => typeof item === 'string')
  ) {
    return false;
  }
  delivery.headers = list;
  return true;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
