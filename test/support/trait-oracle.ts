import { type Call } from './factories';

/** A computed trait of a system under load: the orders of each user, as they were told to a receiver, and as they must be. */

/** What makes the trait; its key is `orders`. */
export const ORDERS = { name: 'Orders', compute: 'count', event: 'Order Completed', syncEvery: '5s' };

export class TraitOracle {
  /** users by the ids of their orders */
  readonly #orders = new Map<string, string>();
  /** by user, and by `timestamp` */
  readonly #told = new Map<string, Map<string, unknown>>();

  /** A call arrived at a destination that gets all of them, once or more often. */
  made({ type, messageId, userId }: Call): void {
    if (type === 'track') this.#orders.set(messageId, userId);
  }

  /** An identify of the trait arrived. */
  hear({ userId, timestamp, traits }: Call): void {
    const told = this.#told.get(userId) ?? new Map<string, unknown>();
    this.#told.set(userId, told);
    const value = (traits as { orders?: unknown }).orders;
    const before = told.get(timestamp as string);
    if (before !== undefined && before !== value)
      throw new Error(`${userId} was told two things of ${String(timestamp)}`);
    told.set(timestamp as string, value);
  }

  /** @throws Error where somebody knows something else than the orders that arrived */
  expectRight(): void {
    const made = new Map<string, number>();
    for (const user of this.#orders.values()) made.set(user, (made.get(user) ?? 0) + 1);
    if (made.size === 0) throw new Error('nobody made an order');
    for (const [user, count] of made) {
      const told = [...(this.#told.get(user) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
      if (told.at(-1) !== count) throw new Error(`${user} made ${count} orders, and was told ${JSON.stringify(told)}`);
      // There are never fewer of them, and nothing is told that is known.
      const grows = told.every((value, i) => i === 0 || (value as number) > (told[i - 1] as number));
      if (!grows) throw new Error(`${user} was told ${JSON.stringify(told)}`);
    }
  }
}
