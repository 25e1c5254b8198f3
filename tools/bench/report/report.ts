import { audienceLines } from './audience-rows';
import { costLines } from './cost-rows';
import { type Results } from './figures';
import { isolationLines } from './isolation-rows';
import { HEAD, row } from './row';
import { about, faults, howTaken } from './notes';
import { table } from './table';
import { troubleLines } from './trouble-rows';
import { usageRows } from './usage-table';

/** Formats the figures of all rounds as one page. Pure. */

export function report(results: Results): string {
  const wrong = faults(results);
  const usage = usageRows(results.rounds);
  return [
    table([HEAD, ...rowsOf(results)]),
    '',
    ...(usage.length > 0 ? [table(usage), ''] : []),
    'Method',
    ...indented(howTaken(results)),
    ...(wrong.length > 0 ? ['', 'Faults', ...indented(wrong)] : []),
    '',
    ...about(results),
  ].join('\n');
}

/** Returns the rows of the table, without its head. */
export function rowsOf({ rounds }: Results): string[][] {
  const lines = [...costLines(), ...isolationLines(rounds), ...troubleLines(rounds), ...audienceLines(rounds)];
  return lines.flatMap((line) => row(line, rounds));
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
