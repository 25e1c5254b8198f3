import {
  type AttemptEvent,
  type CancelledEvent,
  type DeadEvent,
  type UrlAttempt,
  type WaitingEvent,
} from '../../shared/model/attempt-events';

/** Events of `attempts` for tests. `at` gives times in seconds after `START`. */

export const START = Date.parse('2026-11-21T08:00:00.000Z');
const HOUR_MS = 3_600_000;

export function at(seconds: number): string {
  return new Date(START + seconds * 1_000).toISOString();
}

const ABOUT = {
  delivery: 'dlv_1',
  message: 'msg-1',
  source: 'src_1',
  destination: 'dst_1',
  type: 'track' as const,
  userId: 'user-1',
  acceptedAt: at(0),
  expiresAt: new Date(START + 4 * HOUR_MS).toISOString(),
  replay: 0,
  hop: 0,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  record: { topic: 'webhooks', partition: 0, offset: 7 },
  at: at(1),
};

export function aUrl(over: Partial<UrlAttempt> = {}): UrlAttempt {
  return {
    url: 'whk_1',
    origin: 'https://a.example',
    destinationVersion: 1,
    outcome: 'delivered',
    status: 200,
    durationMs: 12,
    ...over,
  };
}

export function anEvent(over: Partial<AttemptEvent> = {}): AttemptEvent {
  const outcome = over.outcome ?? 'delivered';
  const urls = [aUrl({ outcome, status: outcome === 'delivered' ? 200 : 503 })];
  return { ...ABOUT, kind: 'attempt', n: 1, outcome, durationMs: 12, urls, ...over };
}

/** Returns a failed attempt that another follows. */
export function aFailure(over: Partial<AttemptEvent> = {}): AttemptEvent {
  return anEvent({ outcome: 'retry', reason: 'backoff', nextAttemptAt: at(11), ...over });
}

export function aWait(over: Partial<WaitingEvent> = {}): WaitingEvent {
  return {
    ...ABOUT,
    kind: 'waiting',
    n: 0,
    reason: 'circuit_open',
    nextAttemptAt: at(60),
    ...over,
  };
}

export function aDeath(over: Partial<DeadEvent> = {}): DeadEvent {
  return { ...ABOUT, kind: 'dead', n: 1, reason: 'rejected', ...over };
}

export function aCancellation(over: Partial<CancelledEvent> = {}): CancelledEvent {
  return { ...ABOUT, kind: 'cancelled', n: 0, reason: 'destination_disabled', ...over };
}
