import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import { operationsTable } from './api';
import { commandHelp } from './cli';
import { type FAULTS } from './clocks';
import { bucketLines, metricsTables } from './metrics';
import { settingsTables } from './settings';

/**
 * The generated parts of the reference. A page marks each part: `<!-- generated: NAME -->` …
 * `<!-- end of NAME -->`.
 */

type Generator = () => string | Promise<string>;

export const PAGES: Readonly<Record<string, Readonly<Record<string, Generator>>>> = {
  'docs/reference/settings.md': { settings: settingsTables },
  'docs/reference/metrics.md': { metrics: metricsTables, buckets: bucketLines },
  'docs/reference/control-api.md': { operations: operationsTable },
  'docs/reference/cli.md': { commands: commandHelp },
  'docs/reference/clocks.md': {
    'on time': clocksPart('onTime'),
    'never early': clocksPart('neverEarly'),
    'never lost': clocksPart('neverLost'),
  },
};

/**
 * Loads the services when the page is made: otherwise their metrics would be declared out of order.
 */
function clocksPart(which: keyof typeof FAULTS): Generator {
  return async () => (await import('./clocks')).clocksTable(which);
}

export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/**
 * Returns the page with its generated parts updated from the code.
 * @throws Error if the page does not mark a part
 */
export async function generatePage(path: string): Promise<string> {
  let page = readPage(path);
  for (const [name, generate] of Object.entries(PAGES[path] ?? {})) {
    const [begin, end] = [`<!-- generated: ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [page.indexOf(begin), page.indexOf(end)];
    if (from < 0 || to < from) {
      throw new Error(`${path} does not mark "${name}": ${begin} … ${end}`);
    }
    page = `${page.slice(0, from + begin.length)}\n\n${await generate()}\n\n${page.slice(to)}`;
  }
  return page;
}
