/** Waiting, which `close` cuts short. None of it keeps a process alive. */

/** The longest rest once somebody waits for the end. */
const MAX_HURRIED_MS = 1_000;

export class Rests {
  #hurried = false;
  #ended = false;
  readonly #resting = new Set<() => void>();
  readonly #pausing = new Set<() => void>();

  /** Resolves after so long, or soon once hurried. */
  rest(ms: number): Promise<void> {
    return wait(this.#hurried ? Math.min(ms, MAX_HURRIED_MS) : ms, this.#resting);
  }

  /** Resolves after so long: what a server asked for is no matter of hurry. */
  pause(ms: number): Promise<void> {
    return wait(this.#ended ? 0 : ms, this.#pausing);
  }

  /** Ends the rests there are, and makes those to come short. */
  hurry(): void {
    this.#hurried = true;
    for (const end of [...this.#resting]) end();
  }

  ended(): boolean {
    return this.#ended;
  }

  /** Ends all waiting, for good. */
  end(): void {
    this.#ended = true;
    for (const end of [...this.#resting, ...this.#pausing]) end();
  }
}

function wait(ms: number, among: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      among.delete(end);
      resolve();
    };
    const timer = later(ms, end);
    among.add(end);
  });
}

/** A timer that does not keep a process alive. */
export function later(ms: number, then: () => void): ReturnType<typeof setTimeout> {
  const timer = setTimeout(then, ms);
  // Browsers' timers are numbers.
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
