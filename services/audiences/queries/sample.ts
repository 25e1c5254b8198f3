import { hash } from 'node:crypto';
import { type ProfileReader, type Step } from '../profiles/change-set';
import { type Profile } from '../profiles/profile';

/** Samples a partition's users: pure, and in memory that does not grow with their number. */

/**
 * Draws up to `atMost` users, each with equal probability, by a hash of their ids. The sample is
 * the same every time, so that two conditions are tried on the same users.
 */
export class HashSample {
  /** users offered */
  offered = 0;
  readonly #drawn: { user: string; rank: number }[] = [];
  /** users of a higher rank are no longer drawn */
  #highest = Infinity;

  constructor(private readonly atMost: number) {}

  offer(user: string): void {
    this.offered++;
    const rank = rankOf(user);
    if (rank >= this.#highest) return;
    this.#drawn.push({ user, rank });
    if (this.#drawn.length >= 2 * this.atMost) this.#cut();
  }

  get users(): string[] {
    this.#cut();
    return this.#drawn.map(({ user }) => user);
  }

  #cut(): void {
    if (this.#drawn.length <= this.atMost) return;
    this.#drawn.sort((a, b) => a.rank - b.rank);
    this.#drawn.length = this.atMost;
    this.#highest = this.#drawn.at(-1)?.rank ?? Infinity;
  }
}

/** 48 bits. The hash differs from the partitioner's, which spreads users over the partitions. */
function rankOf(user: string): number {
  return parseInt(hash('sha1', user).slice(0, 12), 16);
}

/** Holds the counters of the sampled users, in memory only. An engine uses it like a store. */
export class SampledProfiles implements ProfileReader {
  readonly #profiles: Map<string, Profile>;

  constructor(users: readonly string[]) {
    this.#profiles = new Map(users.map((user) => [user, {}]));
  }

  has(user: string): boolean {
    return this.#profiles.has(user);
  }

  get(user: string): Profile | undefined {
    return this.#profiles.get(user);
  }

  users(): string[] {
    return [];
  }

  touched(): [] {
    return [];
  }

  readonly lastTouch = 0;
  readonly synced = {};

  due(): string[] {
    return [];
  }

  /** A deleted user becomes one without counted events. */
  write({ profiles }: Step): void {
    for (const [user, profile] of profiles) {
      if (this.has(user)) this.#profiles.set(user, profile ?? {});
    }
  }
}
