import { clockMs } from '../harness/timing';
import { readable } from './arithmetic';

/**
 * Prints the progress of a run to stderr: the current step, and for a long step the remaining time.
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
    const startedAt = clockMs();
    let saidAt = startedAt;
    return (done) => {
      const nowMs = clockMs();
      if (nowMs - saidAt < EVERY_MS) return;
      saidAt = nowMs;
      this.note(howMany(what, done, { of, sinceMs: nowMs - startedAt }));
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
      () => this.note(soFar(what, clockMs() - startedAt, expectedMs)),
      EVERY_MS,
    );
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }
}

/**
 * Pure: `counting: 120,000 of 300,000, 5,120/s, about 35 s left`; without a rate at the very start.
 */
export function howMany(
  what: string,
  done: number,
  { of, sinceMs }: { of: number; sinceMs: number },
): string {
  const perMs = done / sinceMs;
  const left =
    perMs > 0 ? `, ${readable(perMs * 1000)}/s, about ${duration((of - done) / perMs)} left` : '';
  return (
    `${what}: ${Math.round(done).toLocaleString('en-US')} of ` +
    `${of.toLocaleString('en-US')}${left}`
  );
}

/** Pure: `isolation: 20 s, about 10 s left`. */
export function soFar(what: string, elapsedMs: number, expectedMs: number): string {
  const leftMs = expectedMs - elapsedMs;
  const slackMs = Math.max(1_000, expectedMs / 5);
  const left =
    leftMs >= 1_000
      ? `about ${duration(leftMs)} left`
      : -leftMs > slackMs
        ? 'longer than expected'
        : 'nearly done';
  return `${what}: ${duration(elapsedMs)}, ${left}`;
}

/** Pure: `45 s`, `12 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${String(seconds)} s` : `${String(Math.round(seconds / 60))} min`;
}
