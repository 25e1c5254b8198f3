/**
 * What `config` holds of audiences and computed traits. Both are told as identify calls of a source of their own, which
 * destinations connect to as to any other.
 */

export const COMPUTES = ['count', 'sum', 'min', 'max', 'first', 'last', 'most_frequent', 'unique'] as const;
/** What a computed trait makes of a user's events. */
export type Compute = (typeof COMPUTES)[number];

interface Definition {
  id: string;
  name: string;
  /** the trait that receivers see: the name in snake_case */
  key: string;
  /** ids of the sources whose messages count; absent: all whose trust is `server` */
  sources?: string[];
  syncEveryMs: number;
  /** id of the source that it is told by */
  source: string;
  /** grows whenever something else is to be counted: then all is counted anew */
  revision: number;
  /** by partition of `messages`, where it ended when this revision began: what was there before belongs to the first sync */
  history: number[];
  createdAt: string;
  updatedAt: string;
}

/** A set of users, by a condition or, without one, by lists from elsewhere. */
export interface Audience extends Definition {
  /** CEL over `user.traits` and what the user did; absent: members are uploaded */
  condition?: string;
  /** uploads that may not have been taken over yet, the oldest first */
  uploads?: Upload[];
}

/** One full set, or one change, of members from elsewhere, complete in `profiles.events`. */
export interface Upload {
  /** 1, 2, 3 … of its audience */
  number: number;
  /** the members are exactly these; else these come and go */
  full: boolean;
  /** how many it names; absent in entries of older versions */
  lines?: number;
  /** by partition of `profiles.events`: the offsets between which its lines lie, the second excluded */
  ranges: [from: number, to: number][];
}

/** A trait that follows from what a user did. */
export interface ComputedTrait extends Definition {
  compute: Compute;
  event: string;
  /** of the event's properties; names within objects are joined by dots */
  property?: string;
  windowMs?: number;
}

/** Keys are traits of receivers, and names of columns in some. */
const MAX_KEY_LENGTH = 100;

/**
 * The name as a trait: words of any script in lower case, joined by underscores.
 *
 * | name                | key               |
 * | ------------------- | ----------------- |
 * | `VIP Customers`     | `vip_customers`   |
 * | `vipCustomers`      | `vip_customers`   |
 * | `HTTPClients`       | `http_clients`    |
 * | `Top 10%`           | `top_10`          |
 * | `Crème brûlée`      | `crème_brûlée`    |
 * | `ＶＩＰ`（full width） | `vip`             |
 * | `重要な顧客`          | `重要な顧客`        |
 * | `!!!`               | none              |
 *
 * @returns undefined where no letter and no digit is left, or too many
 */
export function keyOf(name: string): string | undefined {
  const key = name
    .normalize('NFKC')
    // Apostrophes are inside of words: "Today's" is not two.
    .replace(/['’]/gu, '')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
    // Lower case may have taken a letter apart (İ).
    .normalize('NFKC')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
  return key === '' || key.length > MAX_KEY_LENGTH ? undefined : key;
}
