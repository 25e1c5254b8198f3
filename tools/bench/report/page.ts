import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Results } from './figures';
import { HEAD } from './row';
import { about, faults, howTaken } from './notes';
import { plotsOf } from './plots';
import { rowsOf } from './report';
import { usageRows } from './usage-table';

/** Writes the figures of a run as a page of the documentation, with plots. */

const CAPTIONS: Record<string, string> = {
  isolation: 'Healthy p99 by the share of endpoints that hang',
  cpu: 'CPU per webhook by service',
};

/** @param file ends in .md; the plots are written beside it */
export function writePage(file: string, results: Results): void {
  const plots = plotsOf(results.rounds);
  const name = basename(file, '.md');
  mkdirSync(dirname(file), { recursive: true });
  for (const [plot, svg] of plots) writeFileSync(join(dirname(file), plotFile(name, plot)), svg);
  const images = [...plots.keys()].map((plot) => `![${CAPTIONS[plot] ?? plot}](${plotFile(name, plot)})`);
  writeFileSync(file, pageOf(results, images));
}

function plotFile(page: string, plot: string): string {
  return `${page}-${plot}.svg`;
}

/** Pure. */
export function pageOf(results: Results, images: readonly string[]): string {
  const wrong = faults(results);
  const usage = usageRows(results.rounds);
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`. The goals come from the design. A figure is the median of the rounds.',
    '',
    ...about(results).map((line) => `- ${line}`),
    '',
    ...images.flatMap((image) => [image, '']),
    ...markdownTable([HEAD, ...rowsOf(results)]),
    '',
    ...(usage.length > 0 ? [...markdownTable(usage), ''] : []),
    '## Method',
    '',
    ...howTaken(results).map((line) => `- ${line}`),
    ...(wrong.length > 0 ? ['', '## Faults', '', ...wrong.map((line) => `- ${line}`)] : []),
    '',
  ].join('\n');
}

/** Pads each column to its widest cell, as Prettier does. */
function markdownTable(rows: readonly (readonly string[])[]): string[] {
  const [head = [], ...body] = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((cell, i) => Math.max(3, cell.length, ...body.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (cells[i] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}
