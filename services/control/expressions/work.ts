import { setImmediate as nextTurn } from 'node:timers/promises';
import { sleep } from '../../../shared/runtime/async';
import { cpuMs } from '../../../shared/runtime/cpu-clock';
import { type BucketRate, TokenBuckets } from '../../../shared/runtime/load-limits';
import { TokenSlots } from '../http/slots';
import { Problem } from '../http/problem';

/**
 * Bounds the time and the memory of the expressions that requests bring, since any reader may try
 * one, and one thread serves all.
 *
 * A request has one budget for all that it compiles and tries. The requests of one token work one
 * after the other, in pieces between which control answers others, and at the pace of the token's
 * share of the thread. So a token with many requests waits for itself.
 */

/**
 * People wait for the result. An expression is compiled in 0.3 to 30 ms, and a filter tried on
 * an event in 0.1.
 */
const REQUEST_MS = 500;
/** Patterns in all 22 expressions of a destination fit. */
const REQUEST_BYTES = 16 * 1024 * 1024;
/** Between two pieces control serves others. */
const PIECE_MS = 20;
/** ms of CPU: a third of the thread, and a second of it after a rest. */
const TOKEN_RATE: BucketRate = { perSecond: 300, burst: 1_000 };
/** Of one token. A page of the console sends one or two such requests. */
const IN_TURN = {
  atOnce: 1,
  mostWaiting: 15,
  refusal:
    '16 requests of this token with expressions are already waiting. Send the next one when they ' +
    'have been answered',
};
const MAX_TOKENS = 10_000;

export interface WorkClocks {
  cpu: () => number;
  now: () => number;
  wait: (ms: number) => Promise<void>;
}

const CLOCKS: WorkClocks = { cpu: cpuMs, now: () => performance.now(), wait: sleep };

export class ExpressionWork {
  readonly #shares = new TokenBuckets(MAX_TOKENS);
  readonly #slots = new TokenSlots(IN_TURN);

  constructor(private readonly clocks: WorkClocks = CLOCKS) {}

  /**
   * Lets a request work after the earlier ones of its token.
   * @throws Problem `rate_limited` if too many wait; `too_much_work` if `use` exceeds its budget
   */
  inTurn<T>(token: string, use: (work: RequestWork) => T | Promise<T>): Promise<T> {
    return this.#slots.use(token, async () => {
      const { cpu, now, wait } = this.clocks;
      const waitMs = this.#shares.waitMs(token, TOKEN_RATE, now());
      if (waitMs > 0) await wait(waitMs);
      return use(new RequestWork(cpu, (ms) => this.#charge(token, ms)));
    });
  }

  #charge(token: string, ms: number): void {
    this.#shares.take(token, ms, TOKEN_RATE, this.clocks.now());
  }
}

/** The budget of one request. */
export class RequestWork {
  #spentMs = 0;
  #heldBytes = 0;
  #pieceMs = 0;
  #runsSince: number | undefined;

  constructor(
    private readonly cpu: WorkClocks['cpu'],
    private readonly onWork: (ms: number) => void = () => undefined,
    private readonly limits: { ms: number; bytes: number } = {
      ms: REQUEST_MS,
      bytes: REQUEST_BYTES,
    },
  ) {}

  /** Returns whether nothing is left, also while a piece runs. */
  get isSpent(): boolean {
    const running = this.#runsSince === undefined ? 0 : this.cpu() - this.#runsSince;
    return this.#spentMs + running >= this.limits.ms;
  }

  /** Runs a piece of work. @throws Problem `too_much_work` before it, if nothing is left */
  run<T>(piece: () => T): T {
    if (this.isSpent) throw tooMuchWork();
    return this.measure(piece);
  }

  /** Runs a piece of work, whatever is left. It may be part of another one. */
  measure<T>(piece: () => T): T {
    if (this.#runsSince !== undefined) return piece();
    const startedAt = (this.#runsSince = this.cpu());
    try {
      return piece();
    } finally {
      this.#runsSince = undefined;
      const ms = this.cpu() - startedAt;
      this.#spentMs += ms;
      this.#pieceMs += ms;
      this.onWork(ms);
    }
  }

  /** Counts what the request holds until its end. @throws Problem `too_much_work` */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes > this.limits.bytes) throw tooMuchWork();
  }

  /** Lets control serve others, if this request has worked for a while. */
  async pause(): Promise<void> {
    if (this.#pieceMs < PIECE_MS) return;
    this.#pieceMs = 0;
    await nextTurn();
  }
}

function tooMuchWork(): Problem {
  return new Problem(
    'too_much_work',
    'The expressions of this request take too much work. Shorten them, or send fewer: loops, ' +
      'nested brackets and counts in patterns cost most',
  );
}
