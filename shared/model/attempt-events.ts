import { type MessageType } from './message';

/**
 * The values of topic `attempts`: what happened to a delivery, and to the circuit of a URL. They name the record that held it instead of repeating
 * its body. Names and shapes are those of the control API.
 */

export type ErrorCode = 'timeout' | 'dns' | 'connection' | 'tls' | 'forbidden_address' | 'invalid_url' | 'status';
export type Phase = 'dns' | 'connect' | 'tls' | 'headers' | 'body';
/** ms by phase */
export type Phases = Partial<Record<Phase, number>>;
/** What an answer, or the lack of one, means for its URL. */
export type Outcome = 'delivered' | 'retry' | 'rejected';

export interface UrlError {
  code: ErrorCode;
  phase?: Phase;
  /** one line, without path, query or secret */
  message: string;
}

export interface UrlAttempt {
  /** the webhook's id */
  url: string;
  origin: string;
  outcome: Outcome;
  status?: number;
  durationMs: number;
  /** how long each phase took, ms; what took none is left out, as on a connection that was there */
  phases?: Phases;
  error?: UrlError;
  response?: { headers: Record<string, string>; body: string; truncated: boolean };
}

/** The reason of a `waiting` event by control: the delivery was sent once more. */
export const REPLAYED = 'replayed';

interface About {
  delivery: string;
  message: string;
  source: string;
  destination: string;
  type: MessageType;
  userId?: string | undefined;
  /** where there is no `userId` */
  anonymousId?: string | undefined;
  acceptedAt: string;
  expiresAt: string;
  replay: number;
  hop: number;
  test?: true | undefined;
  traceparent: string;
  /** the record that held it: topic without prefix */
  record: { topic: string; partition: number; offset: number };
  /** when it happened */
  at: string;
}

/** `late`: requests still open when another URL's 2xx had settled the delivery; to be added to the attempt of the same `n`. */
export interface AttemptEvent extends About {
  kind: 'attempt';
  n: number;
  outcome: Outcome;
  durationMs: number;
  urls: UrlAttempt[];
  late?: true;
  /** why it waits now, or ended */
  reason?: string;
  nextAttemptAt?: string;
}
export interface WaitingEvent extends About {
  kind: 'waiting';
  /** attempts made */
  n: number;
  reason: string;
  nextAttemptAt: string;
  /** the replay that sent it once more, where it was one of many */
  job?: string;
}
export interface DeadEvent extends About {
  kind: 'dead';
  n: number;
  reason: string;
}
export interface CancelledEvent extends About {
  kind: 'cancelled';
  n: number;
  reason: string;
}
/** A URL's circuit opened, or closed again, in one delivery process. Its key is the destination's id. */
export interface CircuitEvent {
  kind: 'circuit';
  destination: string;
  /** the webhook's id */
  url: string;
  origin: string;
  state: 'open' | 'closed';
  /** the answer that turned it: `failed`, `timeout` or `throttled`; `ok` where it closes */
  why: string;
  at: string;
}
export type DeliveryEvent = AttemptEvent | WaitingEvent | DeadEvent | CancelledEvent;
