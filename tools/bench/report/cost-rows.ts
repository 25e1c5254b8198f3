import { median, ratio, sum } from '../arithmetic';
import { SERVICES } from '../../../deploy/standalone/service-list';
import { type CpuUse } from '../cpu';
import { type DeliveryFigure, type PipelineFigure, type Round } from './figures';
import { type Goal, GOALS } from './goals';
import { type Line } from './row';

/** The rows of the table for the cost of a webhook. Pure. */

export function costLines(): Line[] {
  return [
    ...bareLines(),
    ...deliveryLines(),
    ...telemetryLines(),
    ...pipelineLines(),
    ...latencyLines(),
    ...sustainedLines(),
  ];
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

function telemetryLines(): Line[] {
  const micros = (runs: readonly DeliveryFigure[]) => {
    const each = runs.map(({ cpu, count }) => microsOf(cpu, ['delivery'], count));
    return each.includes(undefined) ? undefined : sum(each.map((value) => value ?? 0)) / each.length;
  };
  return [
    {
      what: 'delivery alone, 5 % traced and metrics exported',
      unit: 'CPU-µs/webhook',
      of: ({ telemetry: t }) => t && micros(t.with),
    },
    {
      what: 'delivery alone, 5 % traced and metrics exported',
      unit: '× without',
      of: ({ telemetry: t }) => t && ratio(micros(t.with), micros(t.without)),
      goal: GOALS.telemetryRatio,
    },
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

function sustainedLines(): Line[] {
  const services = (rss: Record<string, number>) => sum(SERVICES.map((name) => rss[name] ?? NaN));
  return [
    { what: 'sustained, batches of 100', unit: 'webhooks/s', of: (r) => r.sustained?.perSecond, goal: GOALS.perSecond },
    { what: 'sustained: its worst second', unit: 'webhooks/s', of: (r) => r.sustained?.worstSecond },
    {
      what: 'sustained: memory of all services, after',
      unit: '× before',
      of: ({ sustained: s }) => s && ratio(services(s.rssMb.after), services(s.rssMb.before)),
    },
  ];
}

/** Undefined if a process was not on this machine. */
export function microsOf(cpu: CpuUse, names: readonly string[], count: number): number | undefined {
  const used = names.map((name) => cpu.byName[name]);
  return used.includes(undefined) ? undefined : (sum(used.map((seconds) => seconds ?? 0)) / count) * 1e6;
}
