/** Returns ` (did you mean …?)` for an unknown name; an empty text if no known name is similar. */
export function suggestion(name: string, known: readonly string[]): string {
  const words = new Set(name.split('_'));
  // The prefix and one more word must be the same. Among several, the longest common start decides:
  // WAYPOST_RETRY_DELAY lacks one letter.
  const [best] = known
    .map((setting) => ({
      setting,
      shared: setting.split('_').filter((word) => words.has(word)).length,
    }))
    .filter(({ shared }) => shared >= 2)
    .sort(
      (a, b) => b.shared - a.shared || commonStart(b.setting, name) - commonStart(a.setting, name),
    );
  return best ? ` (did you mean ${best.setting}?)` : '';
}

/** Returns the length of the common start of two texts. */
function commonStart(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}
