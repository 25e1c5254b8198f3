import { Lane, type Job, type LaneOptions } from './lane';
import { LoopClock } from './loop-clock';

/** The lanes there are, made when first needed and dropped when long unused. */

const DROP_AFTER_MS = 600_000;
const SWEEP_MS = 30_000;

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #clock = new LoopClock();
  readonly #sweep = setInterval(() => this.#dropUnused(), SWEEP_MS).unref();

  constructor(private readonly options: LaneOptions) {}

  /** by the loop clock, which all lanes share */
  now(): number {
    return this.#clock.now();
  }

  of(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) this.#lanes.set(name, (lane = new Lane(this.options)));
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
