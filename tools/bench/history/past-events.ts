import { hash } from 'node:crypto';
import { type DeliveryEvent, type UrlAttempt } from '../../../shared/model/attempt-events';
import { type MessageType } from '../../../shared/model/message';
import { at as pick, share } from './hash-random';

/**
 * Generates the `attempts` events of many deliveries, the same in each run. Pure. Each filter meets
 * a hard case: a destination with 40 % of all deliveries and few failures, one whose dead letters
 * are all old, users and types from common to rare.
 */

const WINDOW_MS = 4 * 3_600_000;
const SOURCES = 20;
const USERS = 200_000;
/** The share of the largest destination and of the busiest user. */
const LARGEST = 0.4;
const BUSIEST = 0.02;
const ANONYMOUS = 0.1;
/** The share of the destinations whose endpoints respond; those of the others fail. */
const WELL = 0.8;
/** Its dead letters are all from the first twentieth of the time. */
export const ONCE_SICK = 'dst_1';
/** Shares of all, most common first. */
const TYPES: readonly [MessageType, number][] = [
  ['track', 0.7],
  ['page', 0.85],
  ['identify', 0.94],
  ['screen', 0.98],
  ['group', 0.995],
];

const HEADERS = {
  server: 'nginx',
  date: 'Sat, 21 Nov 2026 08:00:00 GMT',
  'content-length': '11',
  connection: 'keep-alive',
};

export interface Past {
  count: number;
  /** ms since 1970 */
  from: number;
  to: number;
  /** the number of those that get deliveries */
  destinations: number;
}

/** Returns an id in Waypost's format: 22 characters without an order. */
export function idOf(prefix: string, i: number): string {
  return `${prefix}_${hash('sha1', `${prefix}${String(i)}`, 'base64url').slice(0, 22)}`;
}

/** Returns when the i-th delivery was accepted, ms since 1970. */
export function acceptedAtOf({ from, to, count }: Past, i: number): number {
  return Math.floor(from + ((to - from) * i) / count);
}

/** Returns all events of the i-th delivery, in order. */
export function eventsOf(past: Past, i: number): DeliveryEvent[] {
  const acceptedAtMs = acceptedAtOf(past, i);
  const iso = (ms: number) => new Date(acceptedAtMs + ms).toISOString();
  const destination =
    share(i, 1) < LARGEST ? 'dst_0' : `dst_${String(1 + pick(i, 2, past.destinations - 1))}`;
  const about = {
    delivery: idOf('dlv', i),
    message: idOf('msg', i),
    source: `src_${String(pick(i, 3, SOURCES))}`,
    destination,
    type: typeOf(share(i, 4)),
    userId: userOf(i),
    acceptedAt: iso(0),
    expiresAt: iso(WINDOW_MS),
    replay: 0,
    traceparent: `00-${hash('md5', String(i))}-b7ad6b7169203331-01`,
    record: { topic: 'webhooks', partition: i % 12, offset: Math.floor(i / 12) },
  };
  const good: UrlAttempt = {
    url: `whk_${destination}`,
    origin: 'https://hooks.example.com',
    outcome: 'delivered',
    status: 200,
    destinationVersion: 1,
    durationMs: 42,
    phases: { headers: 41, body: 1 },
    response: {
      headers: { ...HEADERS, 'content-type': 'application/json' },
      body: '{"ok":true}',
      truncated: false,
    },
  };
  const first = { ...about, kind: 'attempt' as const, n: 1, hop: 0, durationMs: 42 };
  const delivered: DeliveryEvent = { ...first, at: iso(60), outcome: 'delivered', urls: [good] };
  const fate = share(i, 6);
  if (fate < 0.002) {
    return [
      { ...about, kind: 'cancelled', hop: 0, n: 0, at: iso(60), reason: 'destination_disabled' },
    ];
  }
  const failed = [badUrl(good)];
  const retried: DeliveryEvent = {
    ...first,
    at: iso(60),
    outcome: 'retry',
    urls: failed,
    reason: 'backoff',
    nextAttemptAt: iso(10_000),
  };
  if (fate < 0.03) {
    return [
      retried,
      { ...first, n: 2, hop: 1, at: iso(10_100), outcome: 'delivered', urls: [good] },
    ];
  }
  const sick = Number(destination.slice(4)) >= WELL * past.destinations && fate < 0.2;
  const onceSick = destination === ONCE_SICK && i < past.count / 20;
  if (!sick && !onceSick) return [delivered];
  if (sick && fate > 0.1) return [retried];
  if (sick && fate > 0.06) {
    return [
      {
        ...about,
        kind: 'waiting',
        n: 0,
        hop: 0,
        at: iso(5),
        reason: 'lane_full',
        nextAttemptAt: iso(10_000),
      },
    ];
  }
  return [
    { ...first, at: iso(60), outcome: 'rejected', urls: failed },
    { ...about, kind: 'dead', hop: 0, n: 1, at: iso(60), reason: 'rejected' },
  ];
}

export function userOf(i: number): string | undefined {
  if (share(i, 7) < ANONYMOUS) return undefined;
  return share(i, 5) < BUSIEST ? 'user-busiest' : `user-${String(pick(i, 8, USERS))}`;
}

function badUrl(good: UrlAttempt): UrlAttempt {
  const headers = { ...HEADERS, 'content-type': 'text/html' };
  const body = '<html><head><title>503 Service Unavailable</title></head></html>\n'.repeat(6);
  const error = { code: 'status' as const, message: 'answered 503' };
  return {
    ...good,
    outcome: 'retry',
    status: 503,
    error,
    response: { headers, body, truncated: false },
  };
}

function typeOf(where: number): MessageType {
  return TYPES.find(([, until]) => where < until)?.[0] ?? 'alias';
}
