import { Problem } from './problem';

/**
 * Bounds how many requests of one token read at the same time. All tokens share one thread and one
 * database, which works on one query after the other or on a few: a token with many requests waits
 * for itself, and not the others for it.
 */

/** A page of the console sends a few at a time. */
const AT_ONCE = 4;
const MOST_WAITING = 100;
const RETRY_AFTER_S = 5;

interface Line {
  reading: number;
  /** the earliest first */
  waiting: (() => void)[];
}

export class ReadPlaces {
  /** by token, while it reads */
  readonly #lines = new Map<string, Line>();

  /**
   * Waits for a place among the requests of a token, and reads.
   * @throws Problem `rate_limited` if too many wait
   */
  async read<T>(token: string, read: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(token) ?? { reading: 0, waiting: [] };
    this.#lines.set(token, line);
    if (line.reading < AT_ONCE) line.reading++;
    else if (line.waiting.length >= MOST_WAITING) throw tooManyReads();
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      return await read();
    } finally {
      // The next one takes the place over.
      const next = line.waiting.shift();
      if (next) next();
      else if (--line.reading === 0) this.#lines.delete(token);
    }
  }
}

function tooManyReads(): Problem {
  return new Problem(
    'rate_limited',
    `${MOST_WAITING} requests of this token are already waiting. Send the next one when they have ` +
      'been answered',
    { headers: { 'Retry-After': String(RETRY_AFTER_S) } },
  );
}
