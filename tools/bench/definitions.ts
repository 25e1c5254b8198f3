import { type Audience, type ComputedTrait } from '../../shared/model/audience-definition';
import { type Entry, dates, SOURCE, sourceOf } from './seed-config';

/** Ten audiences and five computed traits over the messages of population.ts, as control writes them. */

const DAY_MS = 86_400_000;
const SYNC_EVERY_MS = 60_000;

const CONDITIONS: Record<string, string> = {
  pro: 'user.traits.plan == "pro"',
  german_pro: 'user.traits.plan == "pro" && user.traits.country == "DE"',
  adults: 'has(user.traits.age) && user.traits.age >= 30',
  buyers: 'count("Order Completed", duration("720h")) >= 2',
  spenders: 'sum("Order Completed", "total", duration("720h")) > 150',
  big_spenders: 'sum("Order Completed", "total") > 300',
  browsers: 'count("Product Viewed", duration("168h")) >= 1 && count("Order Completed", duration("168h")) == 0',
  tea_lovers: 'last("Product Viewed", "category") == "tea"',
  abandoners: 'count("Cart Abandoned", duration("24h")) >= 1',
  vip: 'user.traits.plan == "pro" && count("Order Completed", duration("720h")) >= 2 && sum("Order Completed", "total") > 200',
};

const TRAITS: Record<string, Pick<ComputedTrait, 'compute' | 'event' | 'property' | 'windowMs'>> = {
  orders: { compute: 'count', event: 'Order Completed' },
  spent_30_days: { compute: 'sum', event: 'Order Completed', property: 'total', windowMs: 30 * DAY_MS },
  last_category: { compute: 'last', event: 'Product Viewed', property: 'category' },
  favourite: { compute: 'most_frequent', event: 'Product Viewed', property: 'category', windowMs: 90 * DAY_MS },
  highest: { compute: 'max', event: 'Order Completed', property: 'total', windowMs: 90 * DAY_MS },
};

/** Their number. */
export const DEFINITIONS = { audiences: Object.keys(CONDITIONS).length, traits: Object.keys(TRAITS).length };

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
  const base = { id, name: key, key, source: tellerOf(id), sources: [SOURCE], syncEveryMs: SYNC_EVERY_MS };
  return { ...base, revision: 1, history, ...dates() };
}

/** Returns the source of a definition's calls. */
function tellerOf(definition: string): string {
  return `src_of_${definition}`;
}
