import { readable } from './arithmetic';
import { clockMs } from './clock';

/** What a run tells meanwhile, on stderr: what it does, and for what takes long how long it still will. */

const EVERY_MS = 10_000;

export class Progress {
  /** @param about stands before each line: the round */
  constructor(
    private readonly write: (text: string) => void,
    private readonly about = '',
  ) {}

  /** The same, with more before each line. */
  within(about: string): Progress {
    return new Progress(this.write, `${this.about}${about}: `);
  }

  note(text: string): void {
    this.write(this.about + text);
  }

  /** Says what begins. @returns to be told as often as one likes how many are done: every ten seconds that is said */
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

  /** Says what begins, and every ten seconds how far it is. @param expectedMs how long it will take, roughly */
  async during<T>(what: string, expectedMs: number, work: () => Promise<T>): Promise<T> {
    this.note(what);
    const startedAt = clockMs();
    const timer = setInterval(() => this.note(soFar(what, clockMs() - startedAt, expectedMs)), EVERY_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }
}

/** Pure: `counting: 120,000 of 300,000, 5,120/s, about 35 s left`; of what has just begun, no rate. */
export function howMany(what: string, done: number, { of, sinceMs }: { of: number; sinceMs: number }): string {
  const perMs = done / sinceMs;
  const left = perMs > 0 ? `, ${readable(perMs * 1000)}/s, about ${duration((of - done) / perMs)} left` : '';
  return `${what}: ${Math.round(done).toLocaleString('en-US')} of ${of.toLocaleString('en-US')}${left}`;
}

/** Pure: `isolation: 20 s, about 10 s left`. */
export function soFar(what: string, elapsedMs: number, expectedMs: number): string {
  const leftMs = expectedMs - elapsedMs;
  const slackMs = Math.max(1_000, expectedMs / 5);
  const left =
    leftMs >= 1_000 ? `about ${duration(leftMs)} left` : -leftMs > slackMs ? 'longer than expected' : 'nearly done';
  return `${what}: ${duration(elapsedMs)}, ${left}`;
}

/** Pure: `45 s`, `12 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${String(seconds)} s` : `${String(Math.round(seconds / 60))} min`;
}
