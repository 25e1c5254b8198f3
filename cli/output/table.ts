import { printable } from '../../shared/runtime/printable';
import { type Paint } from './paint';

/** Aligned columns for people. */

export interface Column<Row> {
  title: string;
  of(row: Row): string | number | null | undefined;
  /** the colour of a row's text */
  paint?(row: Row): Paint;
  right?: boolean;
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
