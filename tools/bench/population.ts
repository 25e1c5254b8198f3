import { type JsonObject, type Message } from '../../shared/model/message';
import { at as pick, share } from './history/hash-random';
import { CONTEXT, PRODUCTS } from './payload';

/**
 * Generates the calls of a shop's users, the same in each run. Pure. Each pass over all users is one message of each,
 * in an order that looks random: first an identify, then track calls of five events. No definition counts one of
 * these events.
 */

const DAY_MS = 86_400_000;
/** The calls are spread over this many past days. */
const DAYS = 40;
/** Larger than any number of users, so that each pass visits every user once. */
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

/**
 * Returns the i-th call.
 * @param nowMs time of acceptance, ms since 1970
 */
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
