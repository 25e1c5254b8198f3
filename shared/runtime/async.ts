import { AppError } from './errors';

/** Pauses, waits with a limit, repeated work, and work in order. */

interface SleepOptions {
  /** false lets the process end before the time is over */
  readonly ref?: boolean;
  /** ends the pause early, without an error */
  readonly signal?: AbortSignal;
}

/** Resolves after `ms`, or when the signal aborts. */
export function sleep(ms: number, { ref = true, signal }: SleepOptions = {}): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (!ref) timer.unref();
    signal?.addEventListener('abort', end);
  });
}

/** A pause that doubles with each use. */
export interface Backoff {
  /** Length of the next pause, ms. */
  readonly nextMs: number;
  /** Waits for the next pause, and doubles it. */
  pause(): Promise<void>;
  /** Starts again with the first pause. */
  reset(): void;
}

/** @param wait the pause itself, in ms; default: `sleep` */
export function backoff(
  firstMs: number,
  longestMs: number,
  wait: (ms: number) => Promise<void> = sleep,
): Backoff {
  let nextMs = firstMs;
  return {
    get nextMs() {
      return nextMs;
    },
    pause: () => {
      const ms = nextMs;
      nextMs = Math.min(longestMs, nextMs * 2);
      return wait(ms);
    },
    reset: () => {
      nextMs = firstMs;
    },
  };
}

/**
 * Returns a function that runs work one at a time, in the order of its calls. A failure affects
 * only its own caller.
 */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  const ignore = () => undefined;
  return (work) => {
    const turn = last.then(work);
    last = turn.then(ignore, ignore);
    return turn;
  };
}

/** Runs work in an interval and on demand, one run at a time. */
export class Periodic {
  readonly #inTurn = inTurn();
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;

  /**
   * @param onTrouble receives the first of several failures in a row; absent: the work catches what
   *   it expects, and a mistake in it must end the process
   */
  constructor(
    private readonly everyMs: number,
    private readonly work: () => Promise<void>,
    private readonly onTrouble?: (error: unknown) => void,
  ) {}

  start(): void {
    let waiting = false;
    this.#timer = setInterval(() => {
      // Work that takes longer than its interval must not queue up.
      if (waiting) return;
      waiting = true;
      void this.now().finally(() => (waiting = false));
    }, this.everyMs).unref();
  }

  /** Runs the work once, after the current run. Throws only without `onTrouble`. */
  async now(): Promise<void> {
    try {
      await this.#inTurn(this.work);
      this.#hasFailed = false;
    } catch (error) {
      if (this.onTrouble === undefined) throw error;
      if (!this.#hasFailed) this.onTrouble(error);
      this.#hasFailed = true;
    }
  }

  /** Stops the interval and runs the work a last time, after the current run. */
  async end(): Promise<void> {
    await this.stop();
    await this.now();
  }

  /** Stops the interval and waits for the current run. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#inTurn(() => Promise.resolve());
  }
}

/**
 * Waits for the work, but at most `ms`; the work continues after that.
 * @throws the error of the work, if it fails within that time
 */
export function withTimeout(ms: number, work: Promise<unknown>): Promise<void> {
  return settleWithin<unknown>(ms, work, (resolve) => resolve(undefined)).then(() => undefined);
}

/**
 * Waits for a response of Kafka, but at most `deadlineMs`; the work continues after that, and its
 * failure is ignored.
 * @throws AppError `kafka_unavailable` if it takes longer; the error of the work
 */
export function withDeadline<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  return settleWithin(deadlineMs, work, (_, reject) => {
    reject(new AppError('kafka_unavailable', `Kafka did not answer within ${deadlineMs} ms`, true));
  });
}

type Late<T> = (resolve: (value: T) => void, reject: (error: Error) => void) => void;

/** Settles as the work does, or as `late` decides if the work takes longer than `ms`. */
function settleWithin<T>(ms: number, work: Promise<T>, late: Late<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => late(resolve, reject), Math.max(0, ms));
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
