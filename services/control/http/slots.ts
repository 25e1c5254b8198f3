import { Problem } from './problem';

/** Bounds how many requests work at the same time: all share one thread and one database. */

export interface SlotLimits {
  atOnce: number;
  /** more are refused; absent: any number waits */
  mostWaiting?: number;
  /** tells who is refused why */
  refusal: string;
}

const RETRY_AFTER_S = 5;

/** Who comes when all slots are taken waits. The first to wait is the next. */
export class Slots {
  #taken = 0;
  /** each takes a slot that another request left */
  readonly #waiting = new Set<() => void>();

  constructor(private readonly limits: SlotLimits) {}

  get isUnused(): boolean {
    return this.#taken === 0;
  }

  /**
   * Works as soon as a slot is free.
   * @param patience ends the wait
   * @throws Problem `rate_limited` if too many wait, or the wait ended without a slot
   */
  async use<T>(work: () => T | Promise<T>, patience?: AbortSignal): Promise<T> {
    if (this.#taken < this.limits.atOnce) this.#taken++;
    else await this.#waitInLine(patience);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#taken--;
    }
  }

  #waitInLine(patience: AbortSignal | undefined): Promise<void> {
    const { mostWaiting = Infinity } = this.limits;
    if (this.#waiting.size >= mostWaiting) throw this.#refusal();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(take);
        patience?.removeEventListener('abort', giveUp);
      };
      const take = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(this.#refusal());
      };
      this.#waiting.add(take);
      patience?.addEventListener('abort', giveUp);
    });
  }

  #refusal(): Problem {
    return new Problem('rate_limited', this.limits.refusal, {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }
}

/** Slots of each token: one with many requests waits for itself, and not the others for it. */
export class TokenSlots {
  /** by token, while it uses them */
  readonly #slots = new Map<string, Slots>();

  constructor(private readonly limits: SlotLimits) {}

  /** @throws Problem `rate_limited` if too many requests of this token wait */
  async use<T>(token: string, work: () => T | Promise<T>): Promise<T> {
    const slots = this.#slots.get(token) ?? new Slots(this.limits);
    this.#slots.set(token, slots);
    try {
      return await slots.use(work);
    } finally {
      if (slots.isUnused) this.#slots.delete(token);
    }
  }
}
