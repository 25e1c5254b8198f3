import { median } from '../bench/arithmetic';

/** Whether the memory of a process grew during a run. Pure. */

/**
 * A garbage collector gives memory back irregularly, and a process fills its caches in the first
 * minutes: a difference up to this is not counted as growth.
 */
const FLAT = { share: 0.25, mb: 64 };

export interface Growth {
  /** medians of the first and the last third, MB */
  first: number;
  last: number;
  isFlat: boolean;
}

/** @param mb at equal intervals. Fewer than three samples are not flat: nothing was measured. */
export function growthOf(mb: readonly number[]): Growth {
  const third = Math.floor(mb.length / 3);
  const first = median(mb.slice(0, third));
  const last = median(mb.slice(mb.length - third));
  return { first, last, isFlat: last <= first * (1 + FLAT.share) + FLAT.mb };
}
