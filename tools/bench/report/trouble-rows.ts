import { type OutageFigure, type Round, type WaitingPhase } from './figures';
import { GOALS } from './goals';
import { type Line } from './row';

/** The rows of the table for a backlog, an outage, and waiting deliveries. Pure. */

export function troubleLines(rounds: readonly Round[]): Line[] {
  return [...backlogLines(), ...outageLines(), ...waitingLines(rounds), ...hostileLines()];
}

function hostileLines(): Line[] {
  return [
    { what: 'hostile: honest calls', unit: 'calls/s', of: ({ hostile }) => hostile?.perSecond },
    { what: 'hostile: p99 without hostile requests', unit: 'ms', of: ({ hostile }) => hostile?.cleanP99Ms },
    {
      what: 'hostile: p99 with hostile requests',
      unit: '× without',
      goal: GOALS.hostileRatio,
      of: ({ hostile: h }) => h && h.hostileP99Ms / h.cleanP99Ms,
    },
  ];
}

function backlogLines(): Line[] {
  const ideals = { unit: '× ideal', goal: GOALS.backlogIdeals };
  return [
    { what: 'backlog, a new lane: drained in', ...ideals, of: ({ backlog }) => backlog?.first.ideals },
    { what: 'backlog, a used lane: drained in', ...ideals, of: ({ backlog }) => backlog?.second.ideals },
    { what: 'backlog: ideal', unit: 's', of: ({ backlog: b }) => b && b.idealMs / 1000 },
    { what: 'backlog: waits of a record, mean', unit: 'hops', of: ({ backlog }) => backlog?.hops.mean },
    {
      what: 'backlog: waits of a record, most',
      unit: 'hops',
      of: ({ backlog }) => backlog?.hops.most,
      goal: GOALS.backlogHops,
    },
  ];
}

function outageLines(): Line[] {
  const line = (what: string, unit: string, of: (figure: OutageFigure) => number): Line => ({
    what: `outage${what}`,
    unit,
    of: ({ outage }) => outage && of(outage),
  });
  return [
    line(': appended to tiers while dead', 'records/s', (o) => o.appendsPerSecond.tiers),
    line(': appended to tiers, due and attempts', '× accepted records', (o) => o.appendsPerSecond.all / o.perSecond),
    line(': waits of a record, mean', 'hops', (o) => o.hops.mean),
    line(': waits of a record, most', 'hops', (o) => o.hops.most),
    line(': back to first delivery', 's', (o) => o.firstMs / 1000),
    line(': back to drained', 's', (o) => o.drainMs / 1000),
    line(': most deliveries in a second of the drain', 'webhooks/s', (o) => o.peakPerSecond),
    { ...line(': circuit opened again', 'times', (o) => o.reopened), goal: GOALS.reopened },
    line(', before: p50', 'ms', (o) => o.before.p50Ms),
    line(', before: p99', 'ms', (o) => o.before.p99Ms),
    line(', fresh calls during the drain: p50', 'ms', (o) => o.fresh.p50Ms),
    line(', fresh calls during the drain: p99', 'ms', (o) => o.fresh.p99Ms),
  ];
}

function waitingLines(rounds: readonly Round[]): Line[] {
  const [figure] = rounds.flatMap(({ waiting }) => waiting ?? []);
  return (figure?.phases ?? []).flatMap(({ name }, i) => {
    const line = (what: string, of: (phase: WaitingPhase) => number): Line => ({
      what: `waiting, ${name}: ${what}`,
      unit: 'ms',
      of: ({ waiting }) => {
        const phase = waiting?.phases[i];
        return phase && of(phase);
      },
    });
    return [
      line('late, p50', ({ lateness }) => lateness.p50Ms),
      line('late, p99', ({ lateness }) => lateness.p99Ms),
      { ...line('late, longest', ({ lateness }) => lateness.maxMs), goal: GOALS.latenessMs },
    ];
  });
}
