/** Finds what was searched for in what is shown. Pure. */

/**
 * Returns a text in parts, of which every second one was searched for. Text in quotes finds a whole
 * value, and otherwise a part is enough.
 */
export function hitsIn(text: string, sought: string): string[] {
  if (sought === '') return [text];
  const [, whole] = /^"(.*)"$/.exec(sought) ?? [];
  if (whole !== undefined && whole.toLowerCase() === text.toLowerCase()) return ['', text, ''];
  return text.split(new RegExp(`(${escaped(sought)})`, 'i'));
}

/** Returns a regular expression that matches just this text. */
function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
