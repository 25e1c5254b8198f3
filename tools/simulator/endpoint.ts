import { type Random } from '../harness/random';

/** The behaviour of simulated endpoints, from the time, the open requests, and chance. Pure. */

export type Answer =
  | { kind: 'status'; afterMs: number; status: number; retryAfterS?: number }
  | { kind: 'refused' }
  /** never responds */
  | { kind: 'hangs' };

interface Asked {
  /** ms since the beginning */
  now: number;
  /** open requests there, including this one, of all processes */
  open: number;
  random: Random;
}

export type Behaviour = (asked: Asked) => Answer;

/** A fifth more or less: real endpoints vary. */
const JITTER = 0.2;

/** Responds with 200 after about this time. */
export function answers(ms: number, status = 200): Behaviour {
  return ({ random }) => ({ kind: 'status', afterMs: spread(ms, random), status });
}

/** Handles this many requests in parallel, each for this long; beyond that all get slower. */
export function works(atOnce: number, ms: number): Behaviour {
  return ({ open, random }) => {
    return {
      kind: 'status',
      afterMs: spread(ms, random) * Math.max(1, open / atOnce),
      status: 200,
    };
  };
}

/**
 * Fails beyond this many parallel requests: all further ones get a 503, like a server that has just
 * come back.
 */
export function breaksAt(atOnce: number, ms: number): Behaviour {
  return ({ open, random }) => ({
    kind: 'status',
    afterMs: spread(ms, random),
    status: open > atOnce ? 503 : 200,
  });
}

export const hangs: Behaviour = () => ({ kind: 'hangs' });
export const refuses: Behaviour = () => ({ kind: 'refused' });

/** Responds to a share of the requests with 503. */
export function failsSometimes(share: number, ms: number): Behaviour {
  return ({ random }) => ({
    kind: 'status',
    afterMs: spread(ms, random),
    status: random.next() < share ? 503 : 200,
  });
}

/**
 * Responds to this many requests a second with 200, and to the others with 429 and this
 * Retry-After. It has state: create one for each endpoint.
 */
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

/** Bad between two times. */
export function badFrom(fromMs: number, toMs: number, bad: Behaviour, good: Behaviour): Behaviour {
  return (asked) => (asked.now >= fromMs && asked.now < toMs ? bad(asked) : good(asked));
}

/** Alternates between good and bad without end. */
export function flaps(goodMs: number, badMs: number, bad: Behaviour, good: Behaviour): Behaviour {
  return (asked) => (asked.now % (goodMs + badMs) < goodMs ? good(asked) : bad(asked));
}

function spread(ms: number, random: Random): number {
  return ms * (1 - JITTER + 2 * JITTER * random.next());
}
