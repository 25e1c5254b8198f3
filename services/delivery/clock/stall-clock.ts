import { type Clock, systemClock } from './clock';

/**
 * Measures time without the stalls of this process: a late response or a passed deadline is not an
 * endpoint's fault if this process could not read. It gives two times:
 *
 * - `now`, for estimates of latency, stops while the event loop is stalled: with wall-clock time, a
 *   pause of 150 ms made healthy lanes look slow and diverted their records.
 * - `deadlineNow` leaves out only standstills, in which the process was stopped or got no CPU.
 *   Connections may have ended during one.
 *
 * It ticks while somebody needs these times. Otherwise it rests, and notices no standstill: no
 * request is in flight, and one on a connection that broke meanwhile is sent again (exchange.ts).
 */

const TICK_MS = 10;
/** Part of its interval by which a tick may be late before that counts as a stall. */
const LATE_SHARE = 0.5;
/**
 * Period over which the use of the event loop and of the CPU is judged, ms, and the use (0 to 1)
 * that counts as saturated.
 */
const JUDGED_MS = 100;
const SATURATED = 0.95;
/**
 * Gap between ticks from which the process counts as standing still, far longer than the longest
 * turn of a busy loop. Up to it all time counts; otherwise deadlines would not be kept.
 */
const STANDSTILL_MS = 500;
/**
 * Requests that begin this soon after a standstill may still suffer from it, for example on a
 * connection that the other side closed.
 */
const AFTERMATH_MS = 1_000;

export class StallClock {
  #now = 0;
  #stalledMs = 0;
  #deadlineNow = 0;
  /** by `deadlineNow` */
  #stoodStillAt = -Infinity;
  #last: number;
  #judged: { atMs: number; busyMs: number; cpuMs: number };
  #saturated = false;
  #usesWholeCore = false;
  /** number of those who need it to run */
  #users = 0;
  #stopped = false;
  /** ends the ticks; undefined while it rests */
  #stopTicks: (() => void) | undefined;

  /** @param cores that this process may use at most */
  constructor(
    private readonly time: Clock = systemClock,
    private readonly cores = Infinity,
  ) {
    this.#last = time.steadyMs();
    this.#judged = { atMs: this.#last, busyMs: time.busyMs(), cpuMs: time.cpuMs() };
  }

  /** Runs until the returned function is called, and until all others have called theirs. */
  run(): () => void {
    if (this.#users++ === 0) this.#start();
    return () => {
      if (--this.#users === 0) this.#stop();
    };
  }

  #start(): void {
    if (this.#stopped) return;
    const real = this.time.steadyMs();
    const restedMs = real - this.#last;
    this.#now += restedMs;
    this.#deadlineNow += restedMs;
    this.#last = real;
    this.#judge(real);
    this.#stopTicks = this.time.every(TICK_MS, () => this.#tick());
  }

  #stop(): void {
    if (!this.#stopTicks) return;
    this.#tick();
    this.#stopTicks();
    this.#stopTicks = undefined;
  }

  /** ms since construction without stalls, as coarse as the tick */
  now(): number {
    return this.#now + (this.#stopTicks ? 0 : this.time.steadyMs() - this.#last);
  }

  /**
   * ms that `now` has left out or not counted yet: both together are the real time since
   * construction
   */
  get stalledMs(): number {
    return this.#stalledMs + (this.#stopTicks ? this.time.steadyMs() - this.#last : 0);
  }

  /** True if the event loop was busy throughout the last period: latency may then be our own. */
  get saturated(): boolean {
    return this.#saturated;
  }

  /**
   * True if it used a whole core throughout the last period, or all of the part of a core that its
   * container has. On a busy machine a process is saturated without that: it waits for the CPU, and
   * has more to do in each of its turns.
   */
  get usesWholeCore(): boolean {
    return this.#usesWholeCore;
  }

  /**
   * ms since construction; of a standstill only the first part, up to the gap that counts as one
   * @param steadyMs the present time, if the caller has read it
   */
  deadlineNow(steadyMs = this.time.steadyMs()): number {
    const most = this.#stopTicks ? STANDSTILL_MS : Infinity;
    return this.#deadlineNow + Math.min(steadyMs - this.#last, most);
  }

  /**
   * Returns whether this process stood still after that time (by `deadlineNow`), or shortly before
   * it.
   */
  stoodStillSince(deadlineTime: number): boolean {
    return (
      (this.#stopTicks !== undefined && this.time.steadyMs() - this.#last > STANDSTILL_MS) ||
      this.#stoodStillAt > deadlineTime - AFTERMATH_MS
    );
  }

  stop(): void {
    this.#stop();
    this.#stopped = true;
  }

  #tick(): void {
    const real = this.time.steadyMs();
    const counted = Math.min(TICK_MS * (1 + LATE_SHARE), real - this.#last);
    this.#now += counted;
    this.#stalledMs += real - this.#last - counted;
    this.#deadlineNow = this.deadlineNow(real);
    if (real - this.#last > STANDSTILL_MS) this.#stoodStillAt = this.#deadlineNow;
    this.#last = real;
    this.#judge(real);
  }

  #judge(atMs: number): void {
    const periodMs = atMs - this.#judged.atMs;
    if (periodMs < JUDGED_MS) return;
    const leastMs = SATURATED * periodMs;
    const busyMs = this.time.busyMs();
    const cpuMs = this.time.cpuMs();
    this.#saturated = busyMs - this.#judged.busyMs >= leastMs;
    this.#usesWholeCore = cpuMs - this.#judged.cpuMs >= leastMs * Math.min(1, this.cores);
    this.#judged = { atMs, busyMs, cpuMs };
  }
}

/** The stall clock as a request needs it. */
export type RequestClock = Pick<StallClock, 'deadlineNow' | 'stoodStillSince' | 'run'>;
