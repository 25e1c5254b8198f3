import { type Phase, type Phases } from '../../../shared/model/attempt-events';

/** Measures how long each phase of a request took. */
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
      // A phase may occur twice: after name resolution, connecting comes again.
      phases[this.#phase] = (phases[this.#phase] ?? 0) + ms;
    }
    this.#phase = next;
    this.#phaseAt = now;
  }

  /** Ends the last phase. @returns undefined if no phase took a millisecond */
  endPhases(): Phases | undefined {
    this.phase = this.#phase;
    return this.#phases;
  }
}
