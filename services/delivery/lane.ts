/**
 * One lane per URL: how many requests it may have open, and what waits for a place. Lanes are the only queue there is,
 * and they hold no clock, socket or timer: `now` is the loop clock's.
 *
 * Full means slow. What a lane may hold is what it drains within `maxWaitMs` at the pace it shows (a batch outruns any
 * lane: diverting whatever meets a busy one sent away three quarters of a healthy backlog); beyond that the caller
 * diverts to a tier.
 */

export interface Job {
  /** counted against the lane's share of memory */
  readonly bytes: number;
  /** a due retry, not a first attempt */
  readonly due: boolean;
  /** Takes a place of the lane: call `Lane.ended` when it is free again. */
  start(): void;
}

export type Offer = 'started' | 'queued' | { expectedWaitMs: number };

export interface LaneOptions {
  floor: number;
  start: number;
  ceiling: number;
  /** the longest that a job is expected to wait in the queue: the shortest tier */
  maxWaitMs: number;
  /** the lane's share of the memory for waiting bodies */
  maxQueuedBytes: number;
}

/** Of the places that come free, one in so many goes to a due retry while first attempts wait, and no more. */
const DUE_SHARE = 4;
/** A pace before anything has completed: neither trusting nor suspicious. */
const FIRST_GUESS_MS = 100;
const SMOOTHING = 0.1;

export class Lane {
  #limit: number;
  #meanMs = FIRST_GUESS_MS;
  #fresh: Job[] = [];
  #due: Job[] = [];
  #queuedBytes = 0;
  #turn = 0;
  /** start times of what is open, oldest first */
  readonly #open = new Map<Job, number>();
  #shrunkAt = -Infinity;
  /** when it was last used, by the loop clock */
  usedAt = 0;

  /** @param waiting counts what is queued in this and its sister lanes */
  constructor(
    private readonly options: LaneOptions,
    private readonly waiting: { count: number } = { count: 0 },
  ) {
    this.#limit = options.start;
  }

  get active(): number {
    return this.#open.size;
  }

  get queued(): number {
    return this.#fresh.length + this.#due.length;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  get idle(): boolean {
    return this.active === 0 && this.queued === 0;
  }

  /** Starts the job, queues it, or says how long it would wait where that is too long. */
  offer(job: Job, now: number): Offer {
    this.usedAt = now;
    if (this.active < this.limit && this.queued === 0) {
      this.#start(job, now);
      return 'started';
    }
    const expectedWaitMs = this.expectedWaitMs(now);
    const { maxWaitMs, maxQueuedBytes } = this.options;
    if (expectedWaitMs > maxWaitMs || this.#queuedBytes + job.bytes > maxQueuedBytes) return { expectedWaitMs };
    (job.due ? this.#due : this.#fresh).push(job);
    this.#queuedBytes += job.bytes;
    this.waiting.count++;
    return 'queued';
  }

  /** How long a job offered now would wait, judged by completions and by the age of the oldest open request. */
  expectedWaitMs(now: number): number {
    const [oldest] = this.#open.values();
    const pace = Math.max(this.#meanMs, oldest === undefined ? 0 : now - oldest);
    return ((this.queued + 1) / this.limit) * pace;
  }

  /** A job gave its place back. @param timedOut it met the deadline: the lane narrows, once per wave */
  ended(job: Job, now: number, timedOut: boolean): void {
    const startedAt = this.#open.get(job);
    if (startedAt === undefined) return;
    this.#open.delete(job);
    this.usedAt = now;
    this.#meanMs += SMOOTHING * (now - startedAt - this.#meanMs);
    if (timedOut) {
      if (startedAt >= this.#shrunkAt) {
        this.#limit = Math.max(this.options.floor, this.#limit / 2);
        this.#shrunkAt = now;
      }
    } else if (this.active + 1 >= this.limit) {
      // It was in full use and answers: a little wider.
      this.#limit = Math.min(this.options.ceiling, this.#limit + 1 / this.#limit);
    }
    this.#refill(now);
  }

  /** Takes a queued job out again: its delivery was settled elsewhere. */
  remove(job: Job): boolean {
    const queue = job.due ? this.#due : this.#fresh;
    const at = queue.indexOf(job);
    if (at < 0) return false;
    queue.splice(at, 1);
    this.#left(job);
    return true;
  }

  #refill(now: number): void {
    while (this.active < this.limit) {
      const job = this.#next();
      if (!job) return;
      this.#left(job);
      this.#start(job, now);
    }
  }

  #next(): Job | undefined {
    const dueFirst = this.#fresh.length === 0 || (this.#due.length > 0 && ++this.#turn % DUE_SHARE === 0);
    return (dueFirst ? this.#due : this.#fresh).shift();
  }

  #left(job: Job): void {
    this.#queuedBytes -= job.bytes;
    this.waiting.count--;
  }

  #start(job: Job, now: number): void {
    this.#open.set(job, now);
    job.start();
  }
}
