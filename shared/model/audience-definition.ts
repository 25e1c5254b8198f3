/**
 * The `config` entries of audiences and computed traits. Changes of both are sent as identify calls
 * from a source created for each, which destinations connect to like any other source.
 */

export const COMPUTES = [
  'count',
  'sum',
  'min',
  'max',
  'first',
  'last',
  'most_frequent',
  'unique',
] as const;
/** The aggregate of a computed trait over a user's events. */
export type Compute = (typeof COMPUTES)[number];

interface Definition {
  id: string;
  name: string;
  /** the trait that receivers see: the name in snake_case */
  key: string;
  /** ids of the sources whose messages count; absent: all whose trust is `server` */
  sources?: string[];
  syncEveryMs: number;
  /** id of the source of its messages */
  source: string;
  /** increases when the data to count changes; counting then starts from zero */
  revision: number;
  /**
   * end of each partition of `messages` when this revision began; earlier messages belong to the
   * first sync
   */
  history: number[];
  createdAt: string;
  updatedAt: string;
}

/** A set of users, by a condition or, without one, by uploaded lists. */
export interface Audience extends Definition {
  /** CEL over `user.traits` and the user's events; absent: members are uploaded */
  condition?: string;
  /** the last complete upload of members */
  upload?: Upload;
}

interface Upload {
  /** ms since 1970, and higher than that of any earlier upload of the audience */
  number: number;
  /** true: the members are exactly these; false: members were added and removed */
  full: boolean;
  /** number of lines */
  lines: number;
}

/** A trait computed from a user's events. */
export interface ComputedTrait extends Definition {
  compute: Compute;
  event: string;
  /** of the event's properties; dots separate the names of nested objects */
  property?: string;
  windowMs?: number;
}

/** Keys become traits at receivers, and column names at some of them. */
const MAX_KEY_LENGTH = 100;

/**
 * Returns the name as a trait: words of any script in lower case, joined by underscores.
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
 * @returns undefined if no letter or digit is left, or too many
 */
export function keyOf(name: string): string | undefined {
  const key = name
    .normalize('NFKC')
    // Apostrophes belong to their word: "Today's" is a single word.
    .replace(/['’]/gu, '')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
    // Lower case may have decomposed a letter (İ).
    .normalize('NFKC')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
  return key === '' || key.length > MAX_KEY_LENGTH ? undefined : key;
}
