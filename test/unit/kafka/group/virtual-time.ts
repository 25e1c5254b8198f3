/**
 * Replaces the timers and clocks of this realm by virtual ones: code under test sleeps, and no real
 * time passes. Promises are real: between two timers all ready ones run.
 */

interface Timer {
  at: number;
  order: number;
  everyMs: number | undefined;
  callback: () => void;
  unref(): Timer;
}

const LOOK_EVERY_MS = 50;
/** A time in 2027, because claims of members contain the time of day. */
const EPOCH_MS = 1_800_000_000_000;

const {
  setTimeout: sleepFor,
  setInterval: repeat,
  setImmediate: nextTurn,
  clearTimeout,
  clearInterval,
} = globalThis;
const real = {
  setTimeout: sleepFor,
  setInterval: repeat,
  setImmediate: nextTurn,
  clearTimeout,
  clearInterval,
};
const realPerformance = globalThis.performance;
const realNow = Date.now;

/** Runs each test of a file in virtual time, which begins at 0. */
export function inVirtualTime(): VirtualTime {
  const time = new VirtualTime();
  beforeEach(() => time.install());
  afterEach(() => VirtualTime.uninstall());
  return time;
}

/** @returns whether the work has ended */
export function ended(work: Promise<unknown>): () => boolean {
  let isOver = false;
  void work.then(() => (isOver = true));
  return () => isOver;
}

export class VirtualTime {
  now = 0;
  /** ms by which the machine's clock was set forward; below 0: back */
  clockSetMs = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  install(): void {
    this.now = 0;
    this.clockSetMs = 0;
    this.#timers.clear();
    const start = (callback: () => void, ms = 0, everyMs?: number) => {
      const at = this.now + Math.max(0, ms);
      const timer: Timer = { at, order: this.#order++, everyMs, callback, unref: () => timer };
      this.#timers.add(timer);
      return timer;
    };
    const stop = (timer: Timer) => void this.#timers.delete(timer);
    Object.assign(globalThis, {
      setTimeout: (callback: () => void, ms?: number) => start(callback, ms),
      setInterval: (callback: () => void, ms: number) => start(callback, ms, ms),
      setImmediate: (callback: () => void) => start(callback),
      clearTimeout: stop,
      clearInterval: stop,
    });
    Object.defineProperty(globalThis, 'performance', {
      configurable: true,
      value: { now: () => this.now },
    });
    Date.now = () => EPOCH_MS + this.now + this.clockSetMs;
  }

  static uninstall(): void {
    Object.assign(globalThis, real);
    Object.defineProperty(globalThis, 'performance', {
      configurable: true,
      value: realPerformance,
    });
    Date.now = realNow;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void setTimeout(resolve, ms));
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.run(this.now + ms, () => false);
  }

  /**
   * Runs timers in order until `over` returns true, or until `untilMs`. @returns whether it is over
   */
  async run(untilMs: number, over: () => boolean): Promise<boolean> {
    let lookedAt = -Infinity;
    for (;;) {
      // One turn of the real event loop runs all promises that are ready, and costs less than many
      // `await`s.
      await new Promise((resolve) => nextTurn(resolve));
      if (this.now >= lookedAt + LOOK_EVERY_MS) {
        lookedAt = this.now;
        if (over()) return true;
      }
      const next = this.#next();
      if (!next || next.at > untilMs) {
        this.now = untilMs;
        return false;
      }
      this.now = Math.max(this.now, next.at);
      if (next.everyMs === undefined) this.#timers.delete(next);
      else Object.assign(next, { at: this.now + next.everyMs, order: this.#order++ });
      next.callback();
    }
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) {
        first = timer;
      }
    }
    return first;
  }
}
