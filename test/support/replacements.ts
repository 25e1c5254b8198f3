/**
 * Runs an action, and returns how often `String.prototype.replace` called a function back in it:
 * one call for each piece of a text that a stranger made of many small pieces.
 */
export function replacementsOf(action: () => void): number {
  let count = 0;
  type Replace = (this: string, pattern: unknown, by: unknown) => string;
  const replace = String.prototype.replace as Replace;
  const counting: Replace = function (pattern, by) {
    if (typeof by !== 'function') return replace.call(this, pattern, by);
    const called = by as (...args: unknown[]) => string;
    return replace.call(this, pattern, (...args: unknown[]) => {
      count++;
      return called(...args);
    });
  };
  const spy = jest.spyOn(String.prototype, 'replace').mockImplementation(counting);
  try {
    action();
  } finally {
    spy.mockRestore();
  }
  return count;
}
