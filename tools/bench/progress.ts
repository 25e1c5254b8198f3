import { clockMs } from '../harness/timing';

/**
 * Prints the progress of a run to stderr: the current step, and how long it has taken.
 */

const EVERY_MS = 10_000;

export class Progress {
  /** @param about prefix of each line: the round */
  constructor(
    private readonly write: (text: string) => void,
    private readonly about = '',
  ) {}

  /** Returns the same, with a longer prefix. */
  within(about: string): Progress {
    return new Progress(this.write, `${this.about}${about}: `);
  }

  note(text: string): void {
    this.write(this.about + text);
  }

  /**
   * Announces a step.
   * @returns a function that receives the number done, as often as the caller likes; it prints
   *   every ten seconds
   */
  counting(what: string, of: number): (done: number) => void {
    this.note(`${what}: ${of.toLocaleString('en-US')}`);
    let saidAt = clockMs();
    return (done) => {
      const nowMs = clockMs();
      if (nowMs - saidAt < EVERY_MS) return;
      saidAt = nowMs;
      this.note(`${what}: ${Math.round(done).toLocaleString('en-US')}`);
    };
  }

  /**
   * Announces a step, and prints its progress every ten seconds.
   * @param expectedMs its approximate duration
   */
  async during<T>(what: string, expectedMs: number, work: () => Promise<T>): Promise<T> {
    this.note(what);
    const startedAt = clockMs();
    const timer = setInterval(
      () =>
        this.note(`${what}: ${duration(clockMs() - startedAt)} of about ${duration(expectedMs)}`),
      EVERY_MS,
    );
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }
}

/** Pure: `45 s`, `12 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${String(seconds)} s` : `${String(Math.round(seconds / 60))} min`;
}
