import { type Phase, type Phases } from '../../../shared/model/attempt-events';

/** Something that goes through phases, and knows how long each took. */
export class PhaseTimer {
  readonly startedAt = performance.now();
  #phase: Phase = 'connect';
  #phaseAt = this.startedAt;
  #phases: Phases | undefined;

  get phase(): Phase {
    return this.#phase;
  }

  set phase(next: Phase) {
    const now = performance.now();
    const ms = Math.round(now - this.#phaseAt);
    if (ms > 0) {
      const phases = (this.#phases ??= {});
      // It may come back to one: from the name's resolution to connecting.
      phases[this.#phase] = (phases[this.#phase] ?? 0) + ms;
    }
    this.#phase = next;
    this.#phaseAt = now;
  }

  /** Ends the last one. @returns undefined where none took a millisecond */
  endPhases(): Phases | undefined {
    this.phase = this.#phase;
    return this.#phases;
  }
}
