import { SERVICES } from '../../../bin/service-list';
import { median, ratio, sum } from '../arithmetic';
import { audienceRows, filterRows } from './audience-rows';
import { loadRows } from './load-rows';
import {
  bareMicros,
  type Column,
  first,
  type Goal,
  least,
  micros,
  microsOf,
  most,
  PER_WEBHOOK,
  type Row,
  rows,
} from './columns';
import { type DeliveryFigure, type PipelineFigure, type Round } from './figures';
import { batchedRows } from './batched-rows';
import { isolationRows } from './isolation-rows';
import { soakRows } from './soak-rows';

/** The rows of the report, in their order. Pure. */

/** @param rounds they name the cases and phases that have rows */
export function rowsOf(rounds: readonly Round[]): Row[] {
  return [
    ...costs(),
    ...batchedRows(rounds),
    ...loadRows(rounds),
    ...rolling(rounds),
    ...isolationRows(rounds),
    ...troubles(),
    ...waiting(rounds),
    ...hostile(),
    ...filterRows(rounds),
    ...audienceRows(),
    ...soakRows(),
  ];
}

function costs(): Row[] {
  const traced = 'delivery alone, 5 % traced and metrics exported';
  return [
    ...rows('bare loop', bareOf, [
      ['', 'CPU-µs/request', (bare) => median(bare.map(({ microsEach }) => microsEach))],
      ['', 'requests/s', (bare) => median(bare.map(({ perSecond }) => perSecond))],
    ]),
    ...rows('delivery alone', ({ delivery }) => delivery, [
      ['', PER_WEBHOOK, (d) => micros(d, 'delivery')],
      ['', '× bare loop', (d, round) => ratio(micros(d, 'delivery'), bareMicros(round)), most(1.5)],
      [
        ', from its first POST on',
        PER_WEBHOOK,
        (d) => microsOf(d.cold, ['delivery'], d.count + d.warmUp),
      ],
      [', broker', PER_WEBHOOK, (d) => micros(d, 'broker')],
      ['', 'webhooks/s', (d) => d.perSecond],
    ]),
    ...rows('delivery alone over TLS', ({ https }) => https, [
      ['', PER_WEBHOOK, (h) => micros(h.busy, 'delivery')],
      [
        '',
        '× bare loop over TLS',
        (h) => ratio(micros(h.busy, 'delivery'), h.bare.microsEach),
        most(1.5),
      ],
    ]),
    ...rows('seldom used TLS endpoints', ({ https }) => https?.seldom, [
      ['', 'CPU-ms/webhook', (s) => ratio(micros(s, 'delivery'), 1_000), most(0.25)],
      [
        ': handshakes after the first round',
        'a webhook',
        (s) => s.handshakes.later / s.count,
        most(0),
      ],
      [': delivery without traffic', 'cores', (s) => s.idleCores],
    ]),
    ...rows(traced, ({ telemetry }) => telemetry, [
      ['', PER_WEBHOOK, (t) => meanMicros(t.with)],
      ['', '× without', (t) => ratio(meanMicros(t.with), meanMicros(t.without)), most(1.1)],
    ]),
    ...loop('all, batches of 100', ({ batches }) => batches, {
      all: most(4.85),
      services: most(4),
    }),
    ...loop('all, single calls', ({ singles }) => singles, { all: most(9) }),
    ...rows('call sent to webhook received', ({ latency }) => latency, [
      [', p50', 'ms', ({ p50Ms }) => p50Ms, most(3)],
      [', p99', 'ms', ({ p99Ms }) => p99Ms, most(10)],
      [', longest', 'ms', ({ maxMs }) => maxMs],
    ]),
    ...rows('sustained', ({ sustained }) => sustained, [
      [', batches of 100', 'webhooks/s', ({ perSecond }) => perSecond],
      [
        ', batches of 100, where the bare loop takes 33 µs',
        'webhooks/s',
        ({ perSecond }, round) => (perSecond * (bareMicros(round) ?? NaN)) / 33,
        least(9_000),
      ],
      [': its worst second', 'webhooks/s', ({ worstSecond }) => worstSecond],
      [
        ': memory of all services, after',
        '× before',
        ({ rssMb }) => ratio(ofServices(rssMb.after), ofServices(rssMb.before)),
      ],
    ]),
  ];
}

/** @param goals.all including the broker */
function loop(
  title: string,
  of: (round: Round) => PipelineFigure | undefined,
  goals: { all: Goal; services?: Goal },
): Row[] {
  const part = (about: string, name: string): Column<PipelineFigure> => [
    `: ${about}${name}`,
    PER_WEBHOOK,
    (figure) => micros(figure, name),
  ];
  return rows(title, of, [
    ['', 'webhooks/s', ({ perSecond }) => perSecond],
    [': services and broker', 'CPU-s/1,000', (f) => ratio(micros(f, ...SERVICES, 'broker'), 1_000)],
    [
      ': services and broker',
      '× bare loop',
      (f, round) => ratio(micros(f, ...SERVICES, 'broker'), bareMicros(round)),
      goals.all,
    ],
    [
      ': services',
      '× bare loop',
      (f, round) => ratio(micros(f, ...SERVICES), bareMicros(round)),
      goals.services,
    ],
    ...[...SERVICES, 'broker'].map((name) => part('', name)),
    ...['bench', 'receiver'].map((name) => part('(not counted) ', name)),
  ]);
}

function rolling(rounds: readonly Round[]): Row[] {
  const steps = first(rounds, (round) => round.rolling)?.steps ?? [];
  return [
    ...steps.flatMap(({ name }, i) =>
      rows(`rolling upgrade, ${name}`, (round) => round.rolling?.steps[i], [
        [', p50', 'ms', ({ p50Ms }) => p50Ms],
        [', p99', 'ms', ({ p99Ms }) => p99Ms, most(300)],
      ]),
    ),
    ...rows('rolling upgrade', (round) => round.rolling, [
      [', not arrived', 'webhooks', ({ missing }) => missing, most(0)],
    ]),
  ];
}

function troubles(): Row[] {
  return [
    ...rows('backlog', ({ backlog }) => backlog, [
      [', a new lane: drained in', '× ideal', (b) => b.first.ideals, most(1.2)],
      [', a used lane: drained in', '× ideal', (b) => b.second.ideals, most(1.2)],
      [': ideal', 's', (b) => b.idealMs / 1000],
      [': waits of a record, mean', 'hops', (b) => b.hops.mean],
      [': waits of a record, most', 'hops', (b) => b.hops.most, most(1)],
    ]),
    ...rows('outage', ({ outage }) => outage, [
      [': appended to tiers while dead', 'records/s', (o) => o.appendsPerSecond.tiers],
      [
        ': appended to tiers, due and attempts',
        '× accepted records',
        (o) => o.appendsPerSecond.all / o.perSecond,
      ],
      [': waits of a record, mean', 'hops', (o) => o.hops.mean],
      [': waits of a record, most', 'hops', (o) => o.hops.most],
      [': back to first delivery', 's', (o) => o.firstMs / 1000],
      [': back to drained', 's', (o) => o.drainMs / 1000],
      [': most deliveries in a second of the drain', 'webhooks/s', (o) => o.peakPerSecond],
      [': circuit opened again', 'times', (o) => o.reopened, most(0)],
      [', before: p50', 'ms', (o) => o.before.p50Ms],
      [', before: p99', 'ms', (o) => o.before.p99Ms],
      [', fresh calls during the drain: p50', 'ms', (o) => o.fresh.p50Ms],
      [', fresh calls during the drain: p99', 'ms', (o) => o.fresh.p99Ms],
    ]),
  ];
}

function waiting(rounds: readonly Round[]): Row[] {
  const phases = first(rounds, (round) => round.waiting)?.phases ?? [];
  return phases.flatMap(({ name }, i) =>
    rows(`waiting, ${name}: late`, (round) => round.waiting?.phases[i]?.lateness, [
      [', p50', 'ms', ({ p50Ms }) => p50Ms],
      [', p99', 'ms', ({ p99Ms }) => p99Ms],
      [', longest', 'ms', ({ maxMs }) => maxMs, most(1_000)],
    ]),
  );
}

function hostile(): Row[] {
  return rows('hostile: ', (round) => round.hostile, [
    ['honest calls', 'calls/s', ({ perSecond }) => perSecond],
    ['p99 without hostile requests', 'ms', ({ cleanP99Ms }) => cleanP99Ms],
    ['p99 with hostile requests', '× without', (h) => h.hostileP99Ms / h.cleanP99Ms, most(1.5)],
    ['CPU of a batch read twice', '× a clean batch', (h) => h.secondReading, most(2)],
  ]);
}

function bareOf({ bare }: Round) {
  return bare.length > 0 ? bare : undefined;
}

function meanMicros(runs: readonly DeliveryFigure[]): number | undefined {
  const each = runs.map((run) => micros(run, 'delivery'));
  return each.includes(undefined) ? undefined : sum(each.map((value) => value ?? 0)) / each.length;
}

function ofServices(rss: Record<string, number>): number {
  return sum(SERVICES.map((name) => rss[name] ?? NaN));
}
