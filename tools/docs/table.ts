/** Returns a Markdown table with columns aligned as by prettier. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((title, i) => Math.max(3, ...[title, ...escaped.map((row) => row[i] ?? '')].map(widthOf)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell))).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...escaped.map(line)].join('\n');
}

function widthOf(text: string): number {
  return Array.from(text).length;
}
