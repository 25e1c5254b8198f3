import { uptime } from 'node:os';

/**
 * A clock that never jumps and, unlike `performance.now()`, also counts the time for which the
 * machine slept: Linux and macOS leave that out of the monotonic clock. A clock that is set does
 * not move it.
 */
export class SteadyClock {
  #sleptMs = 0;
  /** by the monotonic clock */
  #measuredAt = -Infinity;
  /** of the clock of the machine over the monotonic one, at the last measurement */
  #wallLead = 0;
  readonly #upBefore: number;

  /**
   * @param monotonicMs stands still while the machine sleeps
   * @param upMs time since the machine started, sleep included; costly to read, and may be as
   *   coarse as a second
   * @param wallMs cheap to read: it jumps when the machine wakes, and tells when to measure
   */
  constructor(
    private readonly monotonicMs = () => performance.now(),
    private readonly upMs = () => uptime() * 1_000,
    private readonly wallMs = () => Date.now(),
  ) {
    this.#upBefore = upMs() - monotonicMs();
  }

  /** Returns ms since an arbitrary moment. */
  now(): number {
    const now = this.monotonicMs();
    const jumpMs = this.wallMs() - now - this.#wallLead;
    if (Math.abs(jumpMs) > COARSE_MS || now - this.#measuredAt >= MEASURE_EVERY_MS) {
      this.#measureSleep(now);
    }
    return now + this.#sleptMs;
  }

  #measureSleep(now: number): void {
    this.#measuredAt = now;
    this.#wallLead = this.wallMs() - now;
    const sleptMs = this.upMs() - this.#upBefore - now;
    if (sleptMs - this.#sleptMs > COARSE_MS) this.#sleptMs = sleptMs;
  }
}

const MEASURE_EVERY_MS = 1_000;
/** Above the coarseness of the uptime. A shorter sleep need not be noticed. */
const COARSE_MS = 2_000;

export const steadyClock = new SteadyClock();
