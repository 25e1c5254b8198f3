import { type JsonObject, type Message } from '../../shared/model/message';
import { at as pick, share } from './history/hash-random';
import { CONTEXT, PRODUCTS } from './payload';

/**
 * What users of a shop do, the same in each run: pure. Each pass over all users is one message of each, in an order that
 * looks random: first an identify, then track calls of five events, one of which no definition counts.
 */

const DAY_MS = 86_400_000;
/** Over so many days the calls lie back. */
const DAYS = 40;
/** Larger than any number of users, so that every user is met once in each pass. */
const STRIDE = 982_451_653;

const EVENTS: readonly [string, number][] = [
  ['Order Completed', 0.3],
  ['Product Viewed', 0.65],
  ['Cart Abandoned', 0.75],
  ['Page Scrolled', 0.95],
  ['Signed Up', 1],
];
const CATEGORIES = ['tea', 'coffee', 'kettles', 'cups', 'books'];
const COUNTRIES = ['DE', 'FR', 'GB', 'US', 'JP', 'BR', 'IN', 'ZA'];

/** The i-th call. @param nowMs when it was accepted, ms since 1970 */
export function callOfUser(i: number, users: number, nowMs: number): Message {
  const user = (i * STRIDE) % users;
  const atMs = nowMs - Math.floor(share(i, 1) * DAYS * DAY_MS);
  const base = {
    messageId: `bench-call-${String(i)}`,
    userId: `user-${String(user)}`,
    timestamp: new Date(atMs).toISOString(),
    receivedAt: new Date(nowMs).toISOString(),
    context: CONTEXT,
  };
  if (i < users) return { ...base, type: 'identify', traits: traitsOf(user) };
  const event = EVENTS.find(([, below]) => share(i, 2) < below)?.[0] ?? '';
  return { ...base, type: 'track', event, properties: propertiesOf(i) };
}

function traitsOf(user: number): JsonObject {
  const name = `Somebody ${String(user)}`;
  return {
    name,
    email: `user-${String(user)}@example.com`,
    plan: share(user, 3) < 0.2 ? 'pro' : 'free',
    country: COUNTRIES[pick(user, 4, COUNTRIES.length)] ?? '',
    age: 18 + pick(user, 5, 60),
  };
}

function propertiesOf(i: number): JsonObject {
  return {
    orderId: `ord-${String(i)}`,
    total: Math.round(share(i, 6) * 20_000) / 100,
    currency: 'EUR',
    category: CATEGORIES[pick(i, 7, CATEGORIES.length)] ?? '',
    products: PRODUCTS,
  };
}
