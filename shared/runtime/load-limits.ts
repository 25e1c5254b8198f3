/** Limits of load: token buckets by key, throttled and sampled log lines, and back-pressure. */

export interface BucketRate {
  /** tokens added each second, above 0 */
  perSecond: number;
  /** tokens of a full bucket; values below 1 count as 1 */
  burst: number;
}

interface Bucket {
  /** below 0: in debt */
  tokens: number;
  /** time of the last refill, ms */
  at: number;
}

/** One token, minus rounding errors of sums. */
const WHOLE = 1 - 1e-6;

/**
 * Limits the rate of each key; time is an argument. A key is open while its bucket holds a whole
 * token. A request may cost more than the bucket holds; the debt then closes the key until it is
 * paid back. So a batch larger than the burst still passes, and the rate holds over time.
 *
 * An unknown bucket counts as full, so memory can be bounded: beyond `maxKeys` the oldest bucket is
 * removed.
 */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>();

  constructor(private readonly maxKeys: number) {}

  /** Returns the ms until the key is open; 0: it is open. */
  waitMs(key: string, rate: BucketRate, nowMs: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return 0;
    refill(bucket, rate, nowMs);
    return bucket.tokens >= WHOLE ? 0 : ((1 - bucket.tokens) / rate.perSecond) * 1_000;
  }

  /** Returns whether the bucket of a key holds this many tokens. */
  holds(key: string, count: number, rate: BucketRate, nowMs: number): boolean {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return count <= rate.burst;
    refill(bucket, rate, nowMs);
    return count <= bucket.tokens;
  }

  /** Takes tokens, whether the key is open or not. */
  take(key: string, cost: number, rate: BucketRate, nowMs: number): void {
    this.#filled(key, rate, nowMs).tokens -= cost;
  }

  /** Takes as many whole tokens as the bucket holds. @returns how many, `most` at most */
  takeUpTo(key: string, most: number, rate: BucketRate, nowMs: number): number {
    const bucket = this.#filled(key, rate, nowMs);
    const taken = Math.max(0, Math.min(most, Math.floor(bucket.tokens + 1 - WHOLE)));
    bucket.tokens -= taken;
    return taken;
  }

  #filled(key: string, rate: BucketRate, nowMs: number): Bucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#makeRoom();
      bucket = { tokens: Math.max(1, rate.burst), at: nowMs };
      this.#buckets.set(key, bucket);
    } else {
      refill(bucket, rate, nowMs);
    }
    return bucket;
  }

  #makeRoom(): void {
    if (this.#buckets.size < this.maxKeys) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}

function refill(bucket: Bucket, { perSecond, burst }: BucketRate, nowMs: number): void {
  // A clock that is set back neither adds nor removes tokens.
  const passedMs = Math.max(0, nowMs - bucket.at);
  bucket.tokens = Math.min(Math.max(1, burst), bucket.tokens + (passedMs * perSecond) / 1_000);
  bucket.at = nowMs;
}

/**
 * Keeps a repeated event from filling the log. It measures time with a clock that does not jump
 * when the machine's clock is set.
 * @returns a function that returns whether to log `key` now: at most once per `intervalMs`. Beyond
 * `maxKeys` different keys in one interval it returns false, so that invented keys cannot fill the
 * memory either.
 */
export function logThrottle(intervalMs: number, maxKeys: number): (key: string) => boolean {
  const spoken = new Map<string, number>();
  return (key) => {
    const at = performance.now();
    const last = spoken.get(key);
    if (last !== undefined && at - last < intervalMs) return false;
    if (last === undefined && spoken.size >= maxKeys) {
      for (const [old, time] of spoken) if (at - time >= intervalMs) spoken.delete(old);
      if (spoken.size >= maxKeys) return false;
    }
    spoken.set(key, at);
    return true;
  };
}

/**
 * Lets the first events of each key into the log and counts the others, until `drain` begins again.
 */
export class LogSample {
  readonly #seen = new Map<string, { logged: number; leftOut: number }>();
  #logged = 0;

  /**
   * @param perKey most events of one key to log
   * @param overall most events of all keys to log
   */
  constructor(
    private readonly perKey: number,
    private readonly overall: number,
  ) {}

  /** Counts an event. @returns whether to log it */
  admits(key: string): boolean {
    const seen = this.#seen.get(key) ?? { logged: 0, leftOut: 0 };
    if (seen.logged + seen.leftOut === 0) this.#seen.set(key, seen);
    if (seen.logged >= this.perKey || this.#logged >= this.overall) {
      seen.leftOut++;
      return false;
    }
    seen.logged++;
    this.#logged++;
    return true;
  }

  /** Forgets all events. @returns how many of each key were left out, above 0 */
  drain(): { key: string; leftOut: number }[] {
    const counts = [...this.#seen].map(([key, { leftOut }]) => ({ key, leftOut }));
    this.#seen.clear();
    this.#logged = 0;
    return counts.filter(({ leftOut }) => leftOut > 0);
  }
}

/**
 * Refuses records while a buffer is full, and asks for them again when it is half empty. Resuming
 * earlier would pause and resume partitions for every few records.
 */
export class Backpressure {
  #refused = false;

  /**
   * @param fill returns how full the buffer is, from 0 (empty) to 1 (full) or a little more
   * @param onRoom called once after one or more refusals, when refused records may be offered again
   */
  constructor(
    private readonly fill: () => number,
    private readonly onRoom: () => void,
  ) {}

  /**
   * Returns whether a record may be taken now. A refusal is remembered until `resumeAtHalf`
   * resumes.
   */
  accepts(): boolean {
    if (this.fill() < 1) return true;
    this.#refused = true;
    return false;
  }

  /** True if records were refused, and are not resumed yet. */
  get hasRefused(): boolean {
    return this.#refused;
  }

  /**
   * Resumes if records were refused and the buffer is at most half full. Call this whenever its
   * fill has fallen.
   */
  resumeAtHalf(): void {
    if (!this.#refused || this.fill() > 0.5) return;
    this.#refused = false;
    this.onRoom();
  }
}
