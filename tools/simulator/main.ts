import { readable } from '../bench/arithmetic';
import { runMain } from '../harness/run-main';
import { table } from '../harness/table';
import { SCENARIOS } from './catalog';
import { help, readCommandLine } from './options';
import { keeps, type Finding } from './scenario';

/**
 * `node dist/tools/simulator/main.js`: runs scenarios in virtual time and prints their findings;
 * progress goes to stderr.
 */

async function main(): Promise<boolean> {
  const read = readCommandLine(process.argv.slice(2), SCENARIOS);
  if (read === 'help') {
    console.log(help(SCENARIOS));
    return true;
  }
  const { scenarios, seed, short } = read;
  const broken: Finding[] = [];
  for (const { name, about, play } of SCENARIOS.filter(({ name }) => scenarios.includes(name))) {
    const started = performance.now();
    console.error(`simulate: ${name} …`);
    const note = (text: string) => console.error(`simulate: ${name}: ${text}`);
    const { findings } = await play({ seed, short, note });
    const tookS = (performance.now() - started) / 1_000;
    const mostMb = process.resourceUsage().maxRSS / 1_024;
    const cost = `computed in ${readable(tookS)} s, ${readable(mostMb)} MB at most`;
    console.log(`\n${name}: ${about} (seed ${String(seed)}, ${cost})\n`);
    console.log(table([['finding', 'value', 'unit', 'goal', ''], ...findings.map(row)]));
    broken.push(...findings.filter((finding) => !keeps(finding)));
  }
  if (broken.length > 0) console.error(`\n${String(broken.length)} goals are missed`);
  return broken.length === 0;
}

function row(finding: Finding): string[] {
  const { what, value, unit = '', goal } = finding;
  if (!goal) return [what, readable(value), unit, '', ''];
  const wanted = 'most' in goal ? `≤ ${readable(goal.most)}` : `≥ ${readable(goal.least)}`;
  return [what, readable(value), unit, wanted, keeps(finding) ? 'kept' : 'MISSED'];
}

runMain(main);
