import { hash } from 'node:crypto';
import { type ProfileReader, type Step } from '../profiles/change-set';
import { type Profile } from '../profiles/profile';

/** Some of a partition's users in place of all of them: pure, and of a size that does not depend on how many there are. */

/**
 * Draws at most so many users, each as likely as any other, by a hash of their ids: the same ones every time, so that two
 * conditions are tried on the same people.
 */
export class HashSample {
  /** users offered */
  offered = 0;
  readonly #drawn: { user: string; rank: number }[] = [];
  /** nobody of a higher rank is drawn any more */
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

/** 48 bits, of another hash than the one that spreads users over the partitions. */
function rankOf(user: string): number {
  return parseInt(hash('sha1', user).slice(0, 12), 16);
}

/** What is counted of the users drawn, in memory alone: an engine counts on it as it does on a store. */
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

  touched(): string[] {
    return [];
  }

  due(): string[] {
    return [];
  }

  /** Whoever is gone by now is somebody of whom nothing was counted. */
  write({ profiles }: Step): void {
    for (const [user, profile] of profiles) if (this.has(user)) this.#profiles.set(user, profile ?? {});
  }
}
