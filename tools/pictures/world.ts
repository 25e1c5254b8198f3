import { randomUUID } from 'node:crypto';
import { type Answer } from '../harness/respond';
import { at, share } from '../bench/history/hash-random';

/**
 * The world of the pictures: the customers of a shop, how their endpoints behave now, what became
 * of their deliveries of the last day, and the calls of the shop. All of it is made up.
 */

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/**
 * Addresses of loopback: where receivers listen, with good certificates, with one that nobody
 * trusts, with one that ends soon, and where nobody listens.
 */
export const GOOD = '127.0.0.1';
export const SELF_SIGNED = '127.0.0.2';
export const NOBODY = '127.0.0.3';
export const ENDS_SOON = '127.0.0.4';

export const SOURCES = ['Web shop', 'Mobile app', 'Billing backend'] as const;
type SourceName = (typeof SOURCES)[number];

/** What became of a delivery of the past. */
export type Fate =
  | { kind: 'delivered'; ms: number }
  /** failed first, and was delivered so much later */
  | { kind: 'retried'; failure: Failure; laterMs: number }
  | { kind: 'dead'; failure: Failure }
  /** failed, and has not ended */
  | { kind: 'retrying'; failure: Failure }
  /** waits, because its endpoint fails */
  | { kind: 'held' };

interface Failure {
  status?: number;
  error?: { code: 'status' | 'tls' | 'connection' | 'timeout'; message: string };
  body?: string;
}

export interface Customer {
  name: string;
  host: string;
  address?: string;
  sources: SourceName[];
  /** all, if absent */
  events?: string[];
  /** is told who joins and leaves the audience; no, if absent */
  getsAudience?: boolean;
  /** how its endpoint answers now; 200 if absent */
  answer?: (nth: number) => Answer;
  /** @param agoMs age of the delivery. @param i its number, for chance; delivered, if absent */
  past?: (agoMs: number, i: number) => Fate | undefined;
}

/** A failure of the past that lasts until now. */
function failsSince(sinceMs: number, failure: Failure): NonNullable<Customer['past']> {
  return (agoMs, i) => {
    if (agoMs > sinceMs) return undefined;
    // The first requests find out, and what follows is held back.
    return agoMs > sinceMs - 2 * MINUTE_MS || i % 9 === 0
      ? { kind: 'retrying', failure }
      : { kind: 'held' };
  };
}

function answered(status: number, body: string): Failure {
  return { status, error: { code: 'status', message: `answered ${String(status)}` }, body };
}

const DATABASE = '{"error":"the database is read-only"}';
const NO_MAIL = '{"error":"contact has no e-mail address"}';
const SELF_SIGNED_ERROR = { code: 'tls' as const, message: 'self-signed certificate' };
const REFUSED_ERROR = { code: 'connection' as const, message: 'connect ECONNREFUSED' };

export const CUSTOMERS: Customer[] = [
  {
    name: 'Acme Billing',
    host: 'hooks.acme.example',
    sources: ['Billing backend'],
    answer: () => ({ status: 500, body: DATABASE }),
    past: failsSince(47 * MINUTE_MS, answered(500, DATABASE)),
  },
  {
    name: 'Borealis CRM',
    host: 'api.borealis.example',
    sources: ['Web shop', 'Mobile app'],
    events: ['Order Completed', 'Signed Up'],
    answer: (nth) => (nth % 4 === 1 ? { status: 422, body: NO_MAIL } : { status: 202 }),
    past: (agoMs, i) => {
      const isImport = agoMs > 6 * HOUR_MS && agoMs < 7.5 * HOUR_MS;
      return share(i, 11) < (isImport ? 0.5 : 0.02)
        ? { kind: 'dead', failure: answered(422, NO_MAIL) }
        : undefined;
    },
  },
  {
    name: 'Cobalt Data',
    host: 'ingest.cobalt.example',
    sources: ['Web shop', 'Mobile app', 'Billing backend'],
    events: ['Product Viewed', 'Cart Viewed', 'Payment Failed'],
    answer: (nth) => ({ status: 200, delayMs: 1_200 + (nth % 7) * 250 }),
    past: (agoMs, i) => {
      const isBusy = agoMs > 2 * HOUR_MS && agoMs < 4 * HOUR_MS;
      const failure = { error: { code: 'timeout' as const, message: 'no response within 5 s' } };
      return isBusy && share(i, 12) < 0.05
        ? { kind: 'retried', failure, laterMs: 15_000 }
        : { kind: 'delivered', ms: 900 + at(i, 13, isBusy ? 3_500 : 1_500) };
    },
  },
  {
    name: 'Delta Logistics',
    host: 'events.delta.example',
    sources: ['Web shop', 'Mobile app'],
    events: ['Order Completed'],
    answer: (nth) => ({ status: nth % 5 === 2 ? 503 : 200 }),
  },
  {
    name: 'Evergreen Retail',
    host: 'hooks.evergreen.example',
    sources: ['Web shop'],
    events: ['Order Completed', 'Cart Viewed'],
    answer: (nth) =>
      nth % 3 === 0 ? { status: 429, headers: { 'retry-after': '20' } } : { status: 200 },
    past: (_agoMs, i) =>
      share(i, 14) < 0.08
        ? { kind: 'retried', failure: answered(429, ''), laterMs: 21_000 }
        : undefined,
  },
  {
    name: 'Falcon Bank',
    host: 'webhooks.falcon.example',
    address: SELF_SIGNED,
    sources: ['Billing backend'],
    events: ['Payment Failed', 'Invoice Paid'],
    past: failsSince(22 * MINUTE_MS, { error: SELF_SIGNED_ERROR }),
  },
  {
    name: 'Gamma Health',
    host: 'inbox.gamma.example',
    address: NOBODY,
    sources: ['Mobile app'],
    events: ['Signed Up'],
    past: (agoMs, i) => {
      const isOutage = agoMs > 9 * HOUR_MS && agoMs < 9.7 * HOUR_MS;
      return isOutage
        ? { kind: 'retried', failure: { error: REFUSED_ERROR }, laterMs: agoMs - 9 * HOUR_MS }
        : failsSince(12 * MINUTE_MS, { error: REFUSED_ERROR })(agoMs, i);
    },
  },
  {
    name: 'Helios Energy',
    host: 'hooks.helios.example',
    sources: ['Billing backend'],
    getsAudience: true,
  },
  {
    name: 'Iris Media',
    host: 'collect.iris.example',
    sources: ['Web shop', 'Mobile app'],
    events: ['Product Viewed', 'Signed Up'],
  },
  {
    name: 'Juniper Travel',
    host: 'api.juniper.example',
    address: ENDS_SOON,
    sources: ['Mobile app'],
  },
  {
    name: 'Kestrel Labs',
    host: 'hooks.kestrel.example',
    sources: ['Web shop'],
    events: ['Checkout Started', 'Order Completed'],
  },
];

/** Where alerts go. */
export const ALERTS_HOST = 'alerts.harbour.example';

export interface ShopCall {
  source: SourceName;
  type: 'track' | 'identify';
  messageId: string;
  userId: string;
  event?: string;
  /** of an identify call */
  traits?: { plan: 'pro' | 'free' };
  [field: string]: unknown;
}

const PRODUCTS = ['Trail shoe', 'Rain jacket', 'Day pack', 'Head torch', 'Camp stove'];
const EVENTS: Record<SourceName, string[]> = {
  'Web shop': [
    'Product Viewed',
    'Product Viewed',
    'Cart Viewed',
    'Checkout Started',
    'Order Completed',
  ],
  'Mobile app': ['Product Viewed', 'Cart Viewed', 'Order Completed', 'Signed Up'],
  'Billing backend': ['Invoice Paid', 'Payment Failed', 'Subscription Renewed'],
};
const USERS = 240;
/** The calls of a day introduce every user. */
const INTRODUCES_EVERY = 16;

/** Returns the i-th call of the shop. Every 16th introduces a user. */
export function callOf(i: number): ShopCall {
  const source = SOURCES[at(i, 1, SOURCES.length)] ?? 'Web shop';
  const userId = `u-${String(1_000 + at(i, 2, USERS))}`;
  const call = { messageId: randomUUID(), userId, source };
  if (i % INTRODUCES_EVERY === 0) {
    const plan = share(i, 3) < 0.3 ? ('pro' as const) : ('free' as const);
    const introduced = `u-${String(1_000 + ((i / INTRODUCES_EVERY) % USERS))}`;
    const traits = { email: `${introduced}@customers.example`, plan };
    return { ...call, source: 'Web shop', type: 'identify', userId: introduced, traits };
  }
  const event = EVENTS[source][at(i, 4, EVENTS[source].length)] ?? 'Product Viewed';
  return { ...call, type: 'track', event, properties: propertiesOf(event, i) };
}

function propertiesOf(event: string, i: number): object {
  const total = Math.round(900 + share(i, 5) * 24_000) / 100;
  switch (event) {
    case 'Product Viewed':
      return { product: PRODUCTS[at(i, 6, PRODUCTS.length)], price: total };
    case 'Cart Viewed':
    case 'Checkout Started':
      return { items: 1 + at(i, 7, 4), total, currency: 'EUR' };
    case 'Order Completed':
      return { orderId: `A-${String(20_000 + i)}`, total, currency: 'EUR' };
    case 'Signed Up':
      return { plan: share(i, 8) < 0.3 ? 'pro' : 'free' };
    default:
      return { invoice: `INV-${String(7_000 + i)}`, amount: total, currency: 'EUR' };
  }
}

/** Returns whether the settings of a customer's destination route a call there. */
export function receives({ sources, events }: Customer, { source, event }: ShopCall): boolean {
  return sources.includes(source) && (!events || (event !== undefined && events.includes(event)));
}
