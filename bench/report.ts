import { median, ratio, readable, spread, sum } from './arithmetic';
import { SERVICES } from '../deploy/local/paths';
import { type CpuUse } from './cpu';
import { type PipelineFigure, type Results, type Round } from './figures';
import { type Goal, GOALS, verdict } from './goals';
import { table } from './table';

/** The figures of all rounds as one readable page: pure. */

/** What others may use before the figures suffer: their caches and cores are ours too. */
const NOISY_CORES = 0.2;

/** One line of the table: medians over the rounds, with the extremes. */
interface Line {
  what: string;
  unit: string;
  of: (round: Round) => number | undefined;
  goal?: Goal;
}

export function report(results: Results): string {
  const lines = [...bareLines(), ...deliveryLines(), ...pipelineLines(), ...latencyLines()];
  const rows = lines.flatMap((line) => row(line, results.rounds));
  return [
    table([['figure', 'median', 'min to max', 'unit', 'goal', ''], ...rows]),
    '',
    ...notes(results),
    '',
    ...about(results),
  ].join('\n');
}

function row({ what, unit, of, goal }: Line, rounds: readonly Round[]): string[][] {
  const figure = spread(rounds.map(of));
  if (!figure) return [];
  const range = figure.rounds > 1 ? `${readable(figure.min)} to ${readable(figure.max)}` : 'one run';
  const wanted = goal ? `${goal.is === 'most' ? '≤' : '≥'} ${readable(goal.limit)}` : '';
  return [[what, readable(figure.median), range, unit, wanted, goal ? verdict(figure.median, goal) : '']];
}

function bareLines(): Line[] {
  return [
    { what: 'bare loop', unit: 'CPU-µs/request', of: bareMicros },
    {
      what: 'bare loop',
      unit: 'requests/s',
      of: ({ bare }) => (bare.length > 0 ? median(bare.map((b) => b.perSecond)) : undefined),
    },
  ];
}

function deliveryLines(): Line[] {
  const micros = ({ delivery: d }: Round) => d && microsOf(d.cpu, ['delivery'], d.count);
  return [
    { what: 'delivery alone', unit: 'CPU-µs/webhook', of: micros },
    {
      what: 'delivery alone',
      unit: '× bare loop',
      of: (r) => ratio(micros(r), bareMicros(r)),
      goal: GOALS.deliveryRatio,
    },
    {
      what: 'delivery alone, from its first POST on',
      unit: 'CPU-µs/webhook',
      of: ({ delivery: d }) => d && microsOf(d.cold, ['delivery'], d.count + d.warmUp),
    },
    {
      what: 'delivery alone, broker',
      unit: 'CPU-µs/webhook',
      of: ({ delivery: d }) => d && microsOf(d.cpu, ['broker'], d.count),
    },
    { what: 'delivery alone', unit: 'webhooks/s', of: ({ delivery }) => delivery?.perSecond },
  ];
}

function pipelineLines(): Line[] {
  return [
    ...loopLines('all, batches of 100', (r) => r.batches, GOALS.cpuPerThousandBatches, GOALS.allServicesRatio),
    ...loopLines('all, single calls', (r) => r.singles, GOALS.cpuPerThousandSingles),
  ];
}

function loopLines(
  what: string,
  of: (round: Round) => PipelineFigure | undefined,
  cpuGoal: Goal,
  ratioGoal?: Goal,
): Line[] {
  const micros = (round: Round, names: readonly string[]) => {
    const figure = of(round);
    return figure && microsOf(figure.cpu, names, figure.count);
  };
  const part = (name: string): Line => ({
    what: `${what}: ${name}`,
    unit: 'CPU-µs/webhook',
    of: (round) => micros(round, [name]),
  });
  const perThousand = (round: Round) => {
    const total = micros(round, [...SERVICES, 'broker']);
    return total === undefined ? undefined : total / 1000;
  };
  return [
    { what, unit: 'webhooks/s', of: (round) => of(round)?.perSecond, goal: GOALS.perSecond },
    { what: `${what}: services and broker`, unit: 'CPU-s/1,000', of: perThousand, goal: cpuGoal },
    {
      what: `${what}: services`,
      unit: '× bare loop',
      of: (round) => ratio(micros(round, SERVICES), bareMicros(round)),
      ...(ratioGoal && { goal: ratioGoal }),
    },
    ...[...SERVICES, 'broker'].map(part),
    ...['bench', 'receiver'].map((name) => ({ ...part(name), what: `${what}: (not counted) ${name}` })),
  ];
}

function latencyLines(): Line[] {
  return [
    { what: 'call sent to webhook received, p50', unit: 'ms', of: (r) => r.latency?.p50Ms, goal: GOALS.p50Ms },
    { what: 'call sent to webhook received, p99', unit: 'ms', of: (r) => r.latency?.p99Ms, goal: GOALS.p99Ms },
    { what: 'call sent to webhook received, longest', unit: 'ms', of: (r) => r.latency?.maxMs },
  ];
}

function bareMicros({ bare }: Round): number | undefined {
  return bare.length > 0 ? median(bare.map((run) => run.microsEach)) : undefined;
}

/** Undefined where a process was not on this machine. */
function microsOf(cpu: CpuUse, names: readonly string[], count: number): number | undefined {
  const used = names.map((name) => cpu.byName[name]);
  return used.includes(undefined) ? undefined : (sum(used.map((seconds) => seconds ?? 0)) / count) * 1e6;
}

/** How each figure was taken, and what went wrong in it. */
function notes({ rounds, settings }: Results): string[] {
  const all = rounds.flatMap((r) => [r.delivery, r.batches, r.singles, r.latency]).filter((f) => f !== undefined);
  const foreign = all.flatMap((figure) => figure.cpu.foreignCores ?? []);
  const faults = rounds.flatMap(faultsOf);
  if (foreign.some((cores) => cores > NOISY_CORES)) {
    faults.push('the machine was not quiet: CPU times are too high and rates too low; take the figures again');
  }
  return [
    'How it was taken',
    '  CPU time is user and system time of the whole process (/proc/<pid>/stat; the bare loop: process.cpuUsage).',
    '  Ratios are taken within a round (the bare loop runs before each part that has one); the median is that of the rounds.',
    `  bare loop: undici Pool, 64 connections, JSON.stringify and HMAC-SHA1 a request, ${text(settings.bare)}.`,
    `  delivery alone: topic webhooks filled beforehand, ${text(settings.delivery)}; until all outcomes are in topic attempts.`,
    `  all: every service as under npm start, closed loop, at most 2,000 calls on their way; batches: ${text(settings.batches)};`,
    `    single calls: ${text(settings.singles)}. Of the load (bench) and the receiver nothing is counted.`,
    `  latency: open loop of single calls, ${text(settings.latency)}.`,
    `  Other processes of the machine used ${foreign.length > 0 ? `up to ${readable(Math.max(...foreign))} cores` : 'an unknown share'} meanwhile.`,
    ...(faults.length > 0 ? ['', 'Not as it should be', ...faults.map((fault) => `  ${fault}`)] : []),
  ];
}

function text(value: string | number | undefined): string {
  return String(value ?? 'not run');
}

function faultsOf(round: Round, i: number): string[] {
  const faults: string[] = [];
  const say = (part: string, count: number, what: string) => {
    if (count !== 0) faults.push(`round ${String(i + 1)}, ${part}: ${readable(count)} ${what}`);
  };
  const { delivery, batches, singles, latency } = round;
  for (const [what, count] of Object.entries(delivery?.warnings ?? {})) say('delivery alone', count, what);
  for (const [what, count] of Object.entries(round.warnings ?? {})) say('all services', count, what);
  for (const [part, figure] of Object.entries({ delivery, batches, singles, latency })) {
    if (!figure) continue;
    if ('missing' in figure) say(part, figure.missing, 'accepted and not delivered');
    if ('repeats' in figure) say(part, figure.repeats, 'POSTs more than deliveries');
    if ('diverted' in figure) say(part, figure.diverted, 'records in tiers or dead letters, since the system started');
  }
  return faults;
}

function about({ at, machine, settings, rounds }: Results): string[] {
  const { cores, cpu, memoryGb, system, node, java, kafka } = machine;
  return [
    `${at}: ${String(rounds.length)} round(s) on ${String(cores)} cores (${cpu}), ${String(memoryGb)} GB, ${system}; everything on the same cores.`,
    `Node ${node}; Apache Kafka ${kafka}, one node, on ${java}; ${text(settings.partitions)} partitions, acks=all, replication 1.`,
    `Bodies of ${text(settings.bodyBytes)} bytes, signed; log level ${text(settings.logLevel)}.`,
  ];
}
