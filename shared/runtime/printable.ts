/** Makes texts of strangers harmless for a terminal. */

/** Control characters and line breaks, which a terminal would obey. */
// eslint-disable-next-line no-control-regex -- it removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Replaces them in a text of one line. */
export function printable(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}

/** Replaces them in a text of several lines, except the breaks of these. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Escapes in JSON what a terminal would obey and `JSON.stringify` leaves as it is. */
export function printableJson(json: string): string {
  return json.replace(CONTROL, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
