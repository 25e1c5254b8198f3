import { hash } from 'node:crypto';
import { type BatchPlace } from './batch';
import { type Delivery } from './delivery';
import { type MessageType } from './message';
import { type Oddity } from './oddities';
import { type Phase } from './phases';
import { type AskedFor } from './receiver-says';
import { type StoredResponse } from './stored-response';
import { isoTime } from './time';

/**
 * Defines the events of topic `attempts`. They report on deliveries and on the circuits of URLs. A
 * record holds one event as JSON, or many successful attempts as rows (`attempt-rows.ts`). An event
 * names the record of its delivery instead of repeating the body, and has the names and shapes of
 * the control API. `reasons.ts` lists the reasons; an event of another version of Waypost may have
 * an unknown one.
 */

export type UrlErrorCode =
  | 'timeout'
  | 'dns'
  | 'connection'
  | 'tls'
  | 'token'
  | 'proxy'
  | 'forbidden_address'
  | 'invalid_url'
  | 'status';
/** ms by phase */
export type Phases = Partial<Record<Phase, number>>;
/** The classification of a response at one URL, or of its absence. */
export type Classification = 'delivered' | 'retry' | 'rejected';
/** The outcome of an attempt, from the classifications of its URLs. */
export type Outcome = Classification;

export interface UrlError {
  code: UrlErrorCode;
  phase?: Phase;
  /** one line, without path, query or secret */
  message: string;
}

export interface UrlAttempt {
  /** the webhook's id */
  url: string;
  origin: string;
  /** `config` version of the destination whose webhook was called, which names the whole URL */
  destinationVersion: number;
  outcome: Classification;
  status?: number;
  durationMs: number;
  /**
   * duration of each phase in ms, without phases that took no time, as on an existing connection
   */
  phases?: Phases | undefined;
  /** a kept connection broke before a response, and the request was sent again over a new one */
  resent?: true | undefined;
  /** the body was sent compressed */
  gzip?: true | undefined;
  /** the request that carried it with other deliveries; absent if it was sent alone */
  batch?: BatchPlace | undefined;
  /** what the receiver asked for in the response header `webhook-delivery` */
  asked?: AskedFor | undefined;
  /** what was odd about the response, whose status counts nevertheless; absent: nothing */
  oddities?: Oddity[];
  error?: UrlError;
  /**
   * Absent if there was none. That of a batch is with its first delivery only (`BatchPlace.first`).
   */
  response?: StoredResponse;
}

/** Returns the bytes that a response takes in an event and in the history. */
export function storedBytes(response: StoredResponse): number {
  return Buffer.byteLength(JSON.stringify(response));
}

interface About {
  delivery: string;
  message: string;
  source: string;
  destination: string;
  type: MessageType;
  /**
   * name of the track call, page or screen; absent if the record of the delivery does not have it
   */
  event?: string | undefined;
  userId?: string | undefined;
  /** absent if `userId` is present */
  anonymousId?: string | undefined;
  acceptedAt: string;
  expiresAt: string;
  replay: number;
  hop: number;
  test?: true | undefined;
  traceparent: string;
  /** the record of the delivery; topic without prefix */
  record: { topic: string; partition: number; offset: number };
  /** time of the event */
  at: string;
}

/**
 * Returns the fields that all events of a delivery have. JSON leaves out undefined ones. @param
 * atMs ms since 1970
 */
export function aboutDelivery(delivery: Delivery, record: About['record'], atMs: number) {
  return {
    delivery: delivery.id,
    message: delivery.messageId,
    source: delivery.sourceId,
    destination: delivery.destinationId,
    type: delivery.type,
    event: delivery.event,
    userId: delivery.userId,
    anonymousId: delivery.anonymousId,
    acceptedAt: isoTime(delivery.acceptedAt),
    expiresAt: isoTime(delivery.expiresAt),
    replay: delivery.replay,
    hop: delivery.hop,
    test: delivery.test ? (true as const) : undefined,
    traceparent: delivery.traceparent,
    record,
    at: isoTime(atMs),
  };
}

/**
 * An attempt. A `late` event adds requests to the attempt with the same `n`: they were still open
 * when another URL's 2xx settled the delivery.
 */
export interface AttemptEvent extends About {
  kind: 'attempt';
  n: number;
  outcome: Outcome;
  durationMs: number;
  urls: UrlAttempt[];
  /**
   * A delivered attempt lists the ids of the destination's URLs that it did not call: they rejected
   * the delivery earlier, or had no room before another URL accepted it. Absent if it called all.
   */
  notCalled?: string[] | undefined;
  late?: true;
  /** why it waits or ended: one of `RETRY_REASONS` or `DEAD_REASONS`, or unknown */
  reason?: string;
  nextAttemptAt?: string;
}
export interface WaitingEvent extends About {
  kind: 'waiting';
  /** attempts made */
  n: number;
  /** one of `DIVERT_REASONS`, `replayed` or `retry_requested`, or unknown */
  reason: string;
  nextAttemptAt: string;
  /** requests that were not sent, each with its error; absent: none was tried */
  urls?: UrlAttempt[] | undefined;
  /** the replay that sent it again, if it covers several deliveries */
  job?: string;
}
export interface DeadEvent extends About {
  kind: 'dead';
  n: number;
  /** one of `DEAD_REASONS`, or unknown */
  reason: string;
  /**
   * why it could not be rendered: the field and the reason, one line without values of the message
   */
  error?: string;
}
export interface CancelledEvent extends About {
  kind: 'cancelled';
  n: number;
  /** one of `CANCEL_REASONS`, or unknown */
  reason: string;
}
/** A URL's circuit opened or closed in one delivery process. The key is the destination's id. */
export interface CircuitEvent {
  kind: 'circuit';
  destination: string;
  /** the webhook's id */
  url: string;
  origin: string;
  /** `config` version of the destination whose webhook it is */
  destinationVersion: number;
  state: 'open' | 'closed';
  /**
   * the response that caused it: `failed`, `timeout` or `throttled`; `ok` or `irregular` if it
   * closes
   */
  why: string;
  at: string;
}
/**
 * The certificate of a server, from a TLS handshake of delivery: it ends soon, or it is new. The
 * key is the origin.
 */
export interface CertificateEvent {
  kind: 'certificate';
  origin: string;
  /** end of the certificate, ISO 8601 */
  notAfter: string;
  at: string;
}
/**
 * The receiver of a URL wants nothing more: it answered 410, or asked for it. Delivery has stopped
 * sending to the URL, and control writes this to the destination. The key is the destination's id.
 */
export interface UrlDisabledEvent {
  kind: 'url_disabled';
  destination: string;
  /** the webhook's id */
  webhook: string;
  /**
   * how often it had been switched on again or got another URL when the request was sent; later,
   * the event is void
   */
  enables: number;
  reason: 'gone' | 'asked';
  at: string;
}
/** The router evaluated a filter that takes much work. The key is the destination's id. */
export interface FilterEvent {
  kind: 'filter';
  destination: string;
  /** digest of the filter's text */
  filter: string;
  /** work for one message, and its limit (`shared/cel/work-limit.ts`) */
  units: number;
  limit: number;
  at: string;
}
export type DeliveryEvent = AttemptEvent | WaitingEvent | DeadEvent | CancelledEvent;
/** Events that the history stores. */
export type StoredEvent = DeliveryEvent | CircuitEvent;
/** Events that only alerts read. */
export type NoticeEvent = CertificateEvent | FilterEvent | UrlDisabledEvent;

const NOTICE_EVENTS: readonly string[] = [
  'certificate',
  'filter',
  'url_disabled',
] satisfies NoticeEvent['kind'][];

export function isNoticeEvent(event: { kind: string }): event is NoticeEvent {
  return NOTICE_EVENTS.includes(event.kind);
}

/** Identifies the text of a filter, so that an event about an earlier text is recognized. */
export function filterDigest(filter: string): string {
  return hash('sha256', filter, 'base64url').slice(0, 22);
}
