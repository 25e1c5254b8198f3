import { table } from '../harness/table';
import { median, readable, spread } from './arithmetic';
import { type Row, verdict } from './rows';

/** The report of a run: a table of all figures, and what went wrong. Pure. */

/** One pass over all selected parts. */
export interface Round {
  rows: Row[];
  /** the raw figures, by part */
  figures: Record<string, object>;
  /** failed measurements, and why */
  failures: { part: string; why: string }[];
}

export interface Machine {
  cores: number;
  cpu: string;
  memoryGb: number;
  system: string;
  node: string;
  java: string;
  kafka: string;
}

/** Content of `--json`. */
export interface Results {
  at: string;
  machine: Machine;
  /** of the command line */
  arguments: string[];
  /** of each measured part */
  sizes: Record<string, unknown>;
  rounds: Round[];
}

const HEAD = ['', 'median', 'min to max', 'unit', 'goal', ''];
/** CPU that other processes may use before the figures suffer: they share caches and cores. */
const NOISY_CORES = 0.2;
/** Numbers that should be 0, by their name in the figures. */
const WRONG: Readonly<Record<string, string>> = {
  missing: 'accepted or due, and not delivered',
  repeats: 'POSTs more than deliveries',
  diverted: 'records in tiers or dead letters, since the system started',
  refused: 'calls that ingest did not accept',
};

/** Returns the text for a terminal. */
export function report({ at, machine, arguments: given, rounds }: Results): string {
  const { cores, cpu, memoryGb, system, node, java, kafka } = machine;
  const faults = rounds.flatMap((round, i) =>
    faultsOf(round).map((fault) => `  round ${String(i + 1)}, ${fault}`),
  );
  return [
    table([HEAD, ...tableRows(rounds)]),
    ...(faults.length > 0 ? ['', 'Faults', ...faults] : []),
    '',
    `${at}: ${String(rounds.length)} round(s) on ${String(cores)} cores (${cpu}), ` +
      `${String(memoryGb)} GB, ${system}; everything on the same cores.`,
    `Node ${node}; Apache Kafka ${kafka}, one node, on ${java}. Arguments: ${given.join(' ')}`,
  ].join('\n');
}

/**
 * Returns a row for each figure: its median over the rounds with the extremes, and its goal. Ratios
 * were taken within a round, because the speed of a machine changes.
 */
function tableRows(rounds: readonly Round[]): string[][] {
  const byName = new Map<string, Row[]>();
  for (const row of rounds.flatMap((round) => round.rows)) {
    const name = `${row.title}\n${row.unit}`;
    byName.set(name, [...(byName.get(name) ?? []), row]);
  }
  return [...byName.values()].flatMap((all) => {
    const figure = spread(all.map(({ value }) => (Number.isNaN(value) ? undefined : value)));
    const [first] = all;
    if (!figure || !first) return [];
    const range =
      figure.rounds > 1 ? `${readable(figure.min)} to ${readable(figure.max)}` : 'one run';
    const goal =
      first.goal === undefined ? undefined : median(all.flatMap((row) => row.goal ?? []));
    return [
      [
        first.title,
        readable(figure.median),
        range,
        first.unit,
        goal === undefined ? '' : `≤ ${readable(goal)}`,
        goal === undefined ? '' : verdict(figure.median, goal),
      ],
    ];
  });
}

/** Lists failed measurements, unwanted outcomes and warnings of services. */
function faultsOf({ failures, figures }: Round): string[] {
  const faults = failures.map(({ part, why }) => `${part}: could not be measured: ${why}`);
  let foreignCores = 0;
  const visit = (where: string, value: unknown) => {
    if (Array.isArray(value)) {
      value.forEach((each, i) => visit(`${where} ${String(i + 1)}`, each));
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [name, field] of Object.entries(value as Record<string, unknown>)) {
      if (typeof field !== 'number') visit(name === 'cpu' ? where : `${where}, ${name}`, field);
      else if (name === 'foreignCores' || name === 'stolenCores') {
        foreignCores = Math.max(foreignCores, field);
      } else {
        const wrong = where.endsWith(', warnings') ? name : WRONG[name];
        if (wrong !== undefined && field !== 0) {
          faults.push(`${where}: ${field.toLocaleString('en-US')} ${wrong}`);
        }
      }
    }
  };
  for (const [part, figure] of Object.entries(figures)) visit(part, figure);
  if (foreignCores > NOISY_CORES) {
    faults.push(
      `others used up to ${readable(foreignCores)} cores: CPU times are too high and rates too ` +
        'low; repeat the run',
    );
  }
  return faults;
}
