import { type Random } from '../harness/random';

/** How simulated endpoints answer: pure, from the time, what is open there, and chance. */

export type Answer =
  | { kind: 'status'; afterMs: number; status: number; retryAfterS?: number }
  | { kind: 'refused' }
  /** never answers */
  | { kind: 'hangs' };

interface Asked {
  /** ms since the beginning */
  now: number;
  /** requests open there, this one included, of all processes */
  open: number;
  random: Random;
}

export type Behaviour = (asked: Asked) => Answer;

/** A fifth more or less: real ones are never equally quick. */
const JITTER = 0.2;

/** Answers 200 after about so long. */
export function answers(ms: number, status = 200): Behaviour {
  return ({ random }) => ({ kind: 'status', afterMs: spread(ms, random), status });
}

/** Works on so many at a time, each taking so long; beyond it all get slower. */
export function works(atOnce: number, ms: number): Behaviour {
  return ({ open, random }) => {
    return { kind: 'status', afterMs: spread(ms, random) * Math.max(1, open / atOnce), status: 200 };
  };
}

/** Beyond so many at once it breaks: all that come then get a 503, as from a server that has just come back. */
export function breaksAt(atOnce: number, ms: number): Behaviour {
  return ({ open, random }) => ({
    ...{ kind: 'status', afterMs: spread(ms, random) },
    status: open > atOnce ? 503 : 200,
  });
}

export const hangs: Behaviour = () => ({ kind: 'hangs' });
export const refuses: Behaviour = () => ({ kind: 'refused' });

/** A share of the answers is a 503. */
export function failsSometimes(share: number, ms: number): Behaviour {
  return ({ random }) => ({
    ...{ kind: 'status', afterMs: spread(ms, random) },
    status: random.next() < share ? 503 : 200,
  });
}

/** So many a second get a 200, the others a 429 that asks for so long. Has a memory: one for each endpoint. */
export function throttles(perSecond: number, retryAfterS: number, ms = 20): Behaviour {
  let second = -1;
  let count = 0;
  return ({ now, random }) => {
    if (Math.floor(now / 1_000) !== second) [second, count] = [Math.floor(now / 1_000), 0];
    const afterMs = spread(ms, random);
    return ++count <= perSecond
      ? { kind: 'status', afterMs, status: 200 }
      : { kind: 'status', afterMs, status: 429, retryAfterS };
  };
}

/** Bad between two moments. */
export function badFrom(fromMs: number, toMs: number, bad: Behaviour, good: Behaviour): Behaviour {
  return (asked) => (asked.now >= fromMs && asked.now < toMs ? bad(asked) : good(asked));
}

/** Good for a while, bad for a while, for ever. */
export function flaps(goodMs: number, badMs: number, bad: Behaviour, good: Behaviour): Behaviour {
  return (asked) => (asked.now % (goodMs + badMs) < goodMs ? good(asked) : bad(asked));
}

function spread(ms: number, random: Random): number {
  return ms * (1 - JITTER + 2 * JITTER * random.next());
}
