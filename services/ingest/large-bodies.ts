import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { type BodyOwner } from './admission';
import { type Steps } from './calls/steps';

/**
 * Lets ingest work on large bodies beside all other requests. Thousands of calls in a body take
 * some 20 ms, for which a thread would serve nobody else: so one large body at a time is worked on,
 * for a slice of time in each turn of the event loop. A slice is longer where the others take
 * longer, so that many small requests do not keep large ones waiting. Owners take turns, body by
 * body. One that sends many waits for itself.
 */

/** Work on a smaller body takes about as long as a slice. */
export const LARGE_BODY_BYTES = 16 * 1024;
const LEAST_SLICE_MS = 1;
const LONGEST_SLICE_MS = 5;
/** Of the time from the request to its response. A body that has waited before has less of it. */
const LONGEST_WAIT_MS = 2_000;

interface LargeBody {
  /** held until the work ends */
  body: Buffer;
  /** by `performance.now()` */
  receivedSteadyMs: number;
}

interface LoopClock {
  /** ms, by a clock that never jumps */
  now: () => number;
  /** Resolves when the event loop has served others. */
  nextTurn: () => Promise<unknown>;
}

export class LargeBodies {
  /** the first to take the next turn comes first */
  readonly #waiting = new Map<BodyOwner['share'], (() => void)[]>();
  #isBusy = false;

  constructor(
    private readonly clock: LoopClock = { now: () => performance.now(), nextTurn: turnOfLoop },
  ) {}

  /**
   * @param work begins when all before it have ended
   * @returns the result of the work; `overloaded` if the body has waited too long, or if the
   *   owner's share of memory is used up
   */
  async work<T>(
    { shares, share }: BodyOwner,
    { body, receivedSteadyMs }: LargeBody,
    work: () => Steps<T>,
  ): Promise<T | 'overloaded'> {
    const { now, nextTurn } = this.clock;
    if (!shares.take(share, body.length)) return 'overloaded';
    if (this.#isBusy) await this.#turnOf(share);
    this.#isBusy = true;
    try {
      if (now() - receivedSteadyMs > LONGEST_WAIT_MS) return 'overloaded';
      const steps = work();
      let sliceMs = LEAST_SLICE_MS;
      for (;;) {
        const begunAt = now();
        let step = steps.next();
        while (!step.done && now() < begunAt + sliceMs) step = steps.next();
        if (step.done) return step.value;
        const endedAt = now();
        await nextTurn();
        sliceMs = Math.min(LONGEST_SLICE_MS, Math.max(LEAST_SLICE_MS, now() - endedAt));
      }
    } finally {
      shares.give(share, body.length);
      this.#callNext();
    }
  }

  #turnOf(share: BodyOwner['share']): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(share);
      if (others) others.push(resolve);
      else this.#waiting.set(share, [resolve]);
    });
  }

  /** The one that is called begins before any that comes now: `#isBusy` stays true for it. */
  #callNext(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#isBusy = false;
      return;
    }
    const [share, queue] = next;
    const resume = queue.shift();
    this.#waiting.delete(share);
    if (queue.length > 0) this.#waiting.set(share, queue);
    resume?.();
  }
}
