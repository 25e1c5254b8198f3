/** Repeatable randomness: the same seed gives the same sequence of numbers. */
export interface Random {
  /** from 0 up to, and not including, 1 */
  next(): number;
  /** a whole number, both ends included */
  between(least: number, most: number): number;
  one<T>(list: readonly T[]): T;
  shuffled<T>(list: readonly T[]): T[];
}

/** Mulberry32: short, and good enough for choices. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    one: <T>(list: readonly T[]) => {
      if (list.length === 0) throw new RangeError('there is nothing to choose from');
      return list[between(0, list.length - 1)] as T;
    },
    shuffled: <T>(list: readonly T[]) => {
      const result = [...list];
      for (let i = result.length - 1; i > 0; i--) {
        const j = between(0, i);
        [result[i], result[j]] = [result[j] as T, result[i] as T];
      }
      return result;
    },
  };
}
