import { type Paint } from './paint';

/** Aligned columns for people. */

export interface Column<Row> {
  title: string;
  of(row: Row): string | number | null | undefined;
  /** the colour of a row's text */
  paint?(row: Row): Paint;
  right?: boolean;
}

/** Control characters, which a terminal would obey, and line breaks, in texts from strangers. */
// eslint-disable-next-line no-control-regex -- it removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export function printable(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}

/** The same of a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Escapes in JSON what a terminal would obey and `JSON.stringify` leaves as it is. */
export function printableJson(json: string): string {
  return json.replace(CONTROL, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** @param colour false: no colour in any row */
export function table<Row>(columns: Column<Row>[], rows: Row[], colour: boolean): string {
  const texts = rows.map((row) => columns.map((column) => cell(column.of(row))));
  const widths = columns.map((column, i) =>
    Math.max(...[column.title, ...texts.map((t) => t[i] ?? '')].map(length)),
  );
  const line = (cells: string[], painted: (i: number, text: string) => string) =>
    cells
      .map((text, i) => {
        const gap = ' '.repeat(Math.max(0, (widths[i] ?? 0) - length(text)));
        const shown = painted(i, text);
        return columns[i]?.right ? gap + shown : shown + gap;
      })
      .join('  ')
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (_, text) => text,
  );
  const body = rows.map((row, at) =>
    line(texts[at] ?? [], (i, text) => {
      const paint = colour ? columns[i]?.paint?.(row) : undefined;
      return paint ? paint(text) : text;
    }),
  );
  return [head, ...body].map((text) => `${text}\n`).join('');
}

/** One object: a name and a value a line. Undefined values are left out. */
export function fields(pairs: [string, string | number | boolean | null | undefined][]): string {
  const shown = pairs.filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`).join('');
}

function cell(value: string | number | boolean | null | undefined): string {
  return value === null || value === undefined || value === '' ? '-' : printable(String(value));
}

/** Counts characters: an emoji counts as one, though it may be two columns wide. */
function length(text: string): number {
  return Array.from(text).length;
}
