/** Formats rows of text as a table, each column as wide as its widest cell. Pure. */

/** Returns a table for a terminal; the first row is the underlined head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = widthsOf(rows);
  const [head, ...body] = rows.map((row) => padded(row, widths).join('  ').trimEnd());
  return head === undefined
    ? ''
    : [head, widths.map((width) => '-'.repeat(width)).join('  '), ...body].join('\n');
}

/** Returns a Markdown table as Prettier formats it; the first row is the head. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = widthsOf(escaped).map((width) => Math.max(3, width));
  const [head = '', ...body] = escaped.map((row) => `| ${padded(row, widths).join(' | ')} |`);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body].join('\n');
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(0, ...rows.map(({ length }) => length));
  return Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map((row) => widthOf(row[i] ?? ''))),
  );
}

function padded(row: readonly string[], widths: readonly number[]): string[] {
  return widths.map((width, i) => (row[i] ?? '') + ' '.repeat(width - widthOf(row[i] ?? '')));
}

function widthOf(text: string): number {
  return Array.from(text).length;
}
