import { type Audience, type ComputedTrait } from '../../shared/model/audience-definition';
import { type JsonObject, type Message } from '../../shared/model/message';
import { at as pick, share } from './history/hash-random';
import { CONTEXT, PRODUCTS } from './payload';
import { dates, type Entry, SOURCE, sourceOf } from './seed';

/**
 * The users of a shop. Pure. Their calls are the same in each run. Each pass over all users is one
 * message of each, in an order that looks random: first an identify, then track calls of five
 * events. Ten audiences and five computed traits are defined over them, as control writes them. No
 * definition counts one of the events.
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

const SYNC_EVERY_MS = 60_000;

const CONDITIONS: Record<string, string> = {
  pro: 'user.traits.plan == "pro"',
  german_pro: 'user.traits.plan == "pro" && user.traits.country == "DE"',
  adults: 'has(user.traits.age) && user.traits.age >= 30',
  buyers: 'count("Order Completed", duration("720h")) >= 2',
  spenders: 'sum("Order Completed", "total", duration("720h")) > 150',
  big_spenders: 'sum("Order Completed", "total") > 300',
  browsers:
    'count("Product Viewed", duration("168h")) >= 1 && count("Order Completed", ' +
    'duration("168h")) == 0',
  tea_lovers: 'last("Product Viewed", "category") == "tea"',
  abandoners: 'count("Cart Abandoned", duration("24h")) >= 1',
  vip:
    'user.traits.plan == "pro" && count("Order Completed", duration("720h")) >= 2 && ' +
    'sum("Order Completed", "total") > 200',
};

const TRAITS: Record<string, Pick<ComputedTrait, 'compute' | 'event' | 'property' | 'windowMs'>> = {
  orders: { compute: 'count', event: 'Order Completed' },
  spent_30_days: {
    compute: 'sum',
    event: 'Order Completed',
    property: 'total',
    windowMs: 30 * DAY_MS,
  },
  last_category: { compute: 'last', event: 'Product Viewed', property: 'category' },
  favourite: {
    compute: 'most_frequent',
    event: 'Product Viewed',
    property: 'category',
    windowMs: 90 * DAY_MS,
  },
  highest: { compute: 'max', event: 'Order Completed', property: 'total', windowMs: 90 * DAY_MS },
};

/** Their number. */
export const DEFINITIONS = {
  audiences: Object.keys(CONDITIONS).length,
  traits: Object.keys(TRAITS).length,
};

/** @param history the end of each partition of `messages` */
export function definitionEntries(history: number[]): Entry[] {
  const audiences = Object.entries(CONDITIONS).map(([key, condition]): Entry => {
    const data: Audience = { ...common(`aud_${key}`, key, history), condition };
    return { kind: 'audience', data };
  });
  const traits = Object.entries(TRAITS).map(([key, what]): Entry => ({
    kind: 'computed_trait',
    data: { ...common(`trt_${key}`, key, history), ...what },
  }));
  const own = [...audiences, ...traits].map(({ data: { id } }): Entry => ({
    kind: 'source',
    data: sourceOf(tellerOf(id), { of: id }),
  }));
  return [...own, ...audiences, ...traits];
}

function common(id: string, key: string, history: number[]) {
  const base = {
    id,
    name: key,
    key,
    source: tellerOf(id),
    sources: [SOURCE],
    syncEveryMs: SYNC_EVERY_MS,
  };
  return { ...base, revision: 1, history, ...dates() };
}

/** Returns the source of a definition's calls. */
function tellerOf(definition: string): string {
  return `src_of_${definition}`;
}
