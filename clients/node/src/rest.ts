/** Timers that `close` can shorten. They do not keep a process alive. */

/** The longest wait while `close` is pending. */
const MAX_HURRIED_MS = 1_000;

export class Rests {
  #hurried = false;
  #ended = false;
  readonly #resting = new Set<() => void>();
  readonly #pausing = new Set<() => void>();

  /** Resolves after this time, or soon after `hurry`. */
  rest(ms: number): Promise<void> {
    return wait(this.#hurried ? Math.min(ms, MAX_HURRIED_MS) : ms, this.#resting);
  }

  /** Resolves after this time even when hurried: the server asked for it. */
  pause(ms: number): Promise<void> {
    return wait(this.#ended ? 0 : ms, this.#pausing);
  }

  /** Ends the current waits, and shortens later ones. */
  hurry(): void {
    this.#hurried = true;
    for (const end of [...this.#resting]) end();
  }

  ended(): boolean {
    return this.#ended;
  }

  /** Ends all waits for good. */
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
  // Timers of browsers are numbers.
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
