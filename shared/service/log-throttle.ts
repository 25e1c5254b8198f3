/**
 * Keeps a repeated event from filling the log. It measures time with a clock that does not jump when the machine's clock is set.
 * @returns a function that returns whether to log `key` now: at most once per `intervalMs`. Beyond `maxKeys` different
 * keys in one interval it returns false, so that invented keys cannot fill the memory either.
 */
export function logThrottle(intervalMs: number, maxKeys: number): (key: string) => boolean {
  const spoken = new Map<string, number>();
  return (key) => {
    const at = performance.now();
    const last = spoken.get(key);
    if (last !== undefined && at - last < intervalMs) return false;
    if (last === undefined && spoken.size >= maxKeys) {
      for (const [old, time] of spoken) if (at - time >= intervalMs) spoken.delete(old);
      if (spoken.size >= maxKeys) return false;
    }
    spoken.set(key, at);
    return true;
  };
}
