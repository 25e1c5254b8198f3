import { Lane, type Job, type LaneOptions } from './lane';
import { LoopClock } from './loop-clock';

/** The lanes there are, made when first needed and dropped when long unused. */

const DROP_AFTER_MS = 600_000;
const SWEEP_MS = 30_000;
/** Some tenths of a second of work at full speed. */
const ENOUGH_WAITING = 1_000;

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #waiting = { count: 0 };
  readonly #clock = new LoopClock();
  readonly #sweep = setInterval(() => this.#dropUnused(), SWEEP_MS).unref();

  constructor(private readonly options: LaneOptions) {}

  /** by the loop clock, which all lanes share */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Whether this process cannot keep up: its event loop is busy and enough waits for it. Lanes then look slow that are
   * not, and the answer is to read less, not to send a healthy backlog away.
   */
  get overloaded(): boolean {
    return this.#clock.saturated && this.#waiting.count >= ENOUGH_WAITING;
  }

  of(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) this.#lanes.set(name, (lane = new Lane(this.options, this.#waiting)));
    return lane;
  }

  ended(name: string, job: Job, timedOut: boolean): void {
    this.#lanes.get(name)?.ended(job, this.now(), timedOut);
  }

  stop(): void {
    clearInterval(this.#sweep);
    this.#clock.stop();
  }

  #dropUnused(): void {
    const before = this.now() - DROP_AFTER_MS;
    for (const [name, lane] of this.#lanes) {
      if (lane.idle && lane.usedAt < before) this.#lanes.delete(name);
    }
  }
}
