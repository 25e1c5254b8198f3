/**
 * Work that can be interrupted: it yields between its steps, of which each takes well under a
 * millisecond.
 */
export type Steps<T> = Generator<void, T>;

/** Does all of the work at once. */
export function finish<T>(work: Steps<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
