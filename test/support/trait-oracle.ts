import { type Call } from './factories';

/**
 * Compares a computed trait of a system under load, the number of each user's orders, with the
 * values a receiver got.
 */

/** The definition of the trait; its key is `orders`. */
export const ORDERS = {
  name: 'Orders',
  compute: 'count',
  event: 'Order Completed',
  syncEvery: '5s',
};

export class TraitOracle {
  /** users by the ids of their orders */
  readonly #orders = new Map<string, string>();
  /** received values by user and `timestamp` */
  readonly #told = new Map<string, Map<string, unknown>>();

  /** Counts a call that arrived at the destination of all calls; repeats are allowed. */
  made({ type, messageId, userId }: Call): void {
    if (type === 'track') this.#orders.set(messageId, userId);
  }

  /** Records an identify call of the trait. */
  hear({ userId, timestamp, traits }: Call): void {
    const told = this.#told.get(userId) ?? new Map<string, unknown>();
    this.#told.set(userId, told);
    const value = (traits as { orders?: unknown }).orders;
    const before = told.get(timestamp as string);
    if (before !== undefined && before !== value) {
      throw new Error(`${userId} was told two things of ${String(timestamp)}`);
    }
    told.set(timestamp as string, value);
  }

  /** @throws Error if the values of a user do not match the orders that arrived */
  expectRight(): void {
    const made = new Map<string, number>();
    for (const user of this.#orders.values()) made.set(user, (made.get(user) ?? 0) + 1);
    if (made.size === 0) throw new Error('nobody made an order');
    for (const [user, count] of made) {
      const told = [...(this.#told.get(user) ?? [])]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, value]) => value);
      if (told.at(-1) !== count) {
        throw new Error(`${user} made ${count} orders, and was told ${JSON.stringify(told)}`);
      }
      // Counts only grow, and no value is sent twice.
      const grows = told.every(
        (value, i) => i === 0 || (value as number) > (told[i - 1] as number),
      );
      if (!grows) throw new Error(`${user} was told ${JSON.stringify(told)}`);
    }
  }
}
