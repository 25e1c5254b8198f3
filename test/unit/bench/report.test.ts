import { filtersRows } from '../../../tools/bench/cases/filters';
import { isolationRows } from '../../../tools/bench/cases/isolation';
import { type IsolationPhase } from '../../../tools/bench/cases/isolation-phase';
import { loadRows } from '../../../tools/bench/cases/load-curve';
import { batchesRows, type PipelineFigure } from '../../../tools/bench/cases/pipeline';
import { processesRows } from '../../../tools/bench/cases/processes';
import { type SoakFigure, soakRows } from '../../../tools/bench/cases/soak';
import { type DrainFigure } from '../../../tools/bench/drain';
import { report, type Round } from '../../../tools/bench/report';
import { type Row, verdict } from '../../../tools/bench/rows';
import { failsEvery } from '../../../tools/harness/receiver';
import { table } from '../../../tools/harness/table';
import { type CpuUse } from '../../../tools/harness/usage';

const cpu = (byName: Record<string, number>, foreignCores = 0.1): CpuUse => ({
  seconds: 10,
  byName,
  foreignCores,
  stolenCores: 0,
});

const aLoop = (fields: Partial<PipelineFigure> = {}): PipelineFigure => ({
  count: 10_000,
  callsPerRequest: 100,
  perSecond: 6_000,
  cpu: cpu({
    ingest: 0.2,
    router: 0.2,
    delivery: 0.4,
    retry: 0,
    audiences: 0,
    control: 0.1,
    broker: 0.3,
    bench: 1,
    receiver: 1,
  }),
  missing: 0,
  repeats: 0,
  diverted: 0,
  ...fields,
});

const aRound = (rows: Row[], figures: Round['figures'] = {}): Round => ({
  rows,
  figures,
  failures: [],
});

const reportOf = (...rounds: Round[]) =>
  report({
    at: '2026-01-01T00:00:00.000Z',
    machine: {
      cores: 2,
      cpu: 'a cpu',
      memoryGb: 8,
      system: 'linux',
      node: 'v20',
      java: '17',
      kafka: '4.1.2',
    },
    arguments: ['--quick'],
    sizes: {},
    rounds,
  });

const lineOf = (text: string, words: RegExp) =>
  text.split('\n').find((line) => words.test(line)) ?? '';

/** The value of a row, by its title and unit. */
const valueOf = (rows: Row[], title: string, unit: string) =>
  rows.find((row) => row.title === title && row.unit === unit)?.value;

describe('the report', () => {
  test('a ratio is taken within a round, and the report shows the median', () => {
    const text = reportOf(...[20, 40, 30].map((bare) => aRound(batchesRows(aLoop(), bare))));
    expect(lineOf(text, /all, batches of 100: services {2}.*× bare/)).toMatch(
      / 3\.00 +2\.25 to 4\.50 .*≤ 4\.00 +met/,
    );
  });

  test('the CPU of a thousand webhooks includes the broker, but not load and receiver', () => {
    const text = reportOf(aRound(batchesRows(aLoop(), 20)));
    expect(lineOf(text, /services and broker .*CPU-s/)).toMatch(/ 0\.120 +one run /);
    expect(lineOf(text, /services and broker .*× bare/)).toMatch(
      / 6\.00 +one run .*≤ 4\.85 +missed by 24 %/,
    );
  });

  test('a figure that was not measured has no row: a process was not on this machine', () => {
    const text = reportOf(aRound(batchesRows(aLoop({ cpu: cpu({ ingest: 1 }) }), 20)));
    expect(lineOf(text, /services and broker/)).toBe('');
    expect(lineOf(text, /all, batches of 100: ingest/)).toMatch(/ 100 +one run/);
  });

  test('missing or repeated deliveries, warnings and failed parts are faults of a round', () => {
    const isolation = { phases: [{ hanging: 10, refused: 2, missing: 0 }] };
    const bad = {
      rows: [],
      figures: { batches: aLoop({ missing: 3 }), isolation, delivery: { warnings: { late: 4 } } },
      failures: [{ part: 'outage', why: 'no broker' }],
    };
    const text = reportOf(aRound([], { batches: aLoop() }), bad);
    expect(text.split('\n').filter((line) => /^ {2}round/.test(line))).toEqual([
      '  round 2, outage: could not be measured: no broker',
      '  round 2, batches: 3 accepted or due, and not delivered',
      '  round 2, isolation, phases 1: 2 calls that ingest did not accept',
      '  round 2, delivery, warnings: 4 late',
    ]);
    expect(reportOf(aRound([], { batches: aLoop() }))).not.toMatch(/Faults/);
  });

  test('a busy machine is a fault', () => {
    const busy = { batches: aLoop({ cpu: cpu({}, 0.5) }) };
    expect(reportOf(aRound([], busy))).toMatch(/others used up to 0\.500 cores/);
  });

  test('the report names the machine and the arguments', () =>
    expect(reportOf()).toMatch(/2 cores \(a cpu\)[^]*Arguments: --quick/));
});

describe('goals in proportion to the speed of the machine', () => {
  test('cores at a rate where the bare loop takes 55 µs', () => {
    const used = aLoop().cpu;
    const times = { count: 1, p50Ms: 2, p99Ms: 9, maxMs: 20, missing: 0 };
    const load = {
      idle: { cpu: used, rssMb: {} },
      rates: [{ ...times, perSecond: 50, cpu: used }],
    };
    expect(
      lineOf(reportOf(aRound(loadRows(load, 27.5))), /50 single calls\/s where the bare loop/),
    ).toMatch(/ 0\.240 .*≤ 0\.200 +missed by 20 %/);
  });

  test('the process that all services share counts, with the broker', () => {
    const idle = {
      cpu: cpu({ all: 0.2, broker: 0.3, bench: 1 }),
      rssMb: { all: 250, broker: 220, bench: 150 },
    };
    const rows = loadRows({ idle, rates: [] }, 20);
    expect(valueOf(rows, 'all, without calls', 'cores')).toBeCloseTo(0.05);
    expect(valueOf(rows, 'all, without calls', 'MB')).toBe(470);
  });
});

describe('isolation', () => {
  const phase = (hanging: number, fields: Partial<IsolationPhase> = {}): IsolationPhase => ({
    hanging,
    count: 1_000,
    p50Ms: 3,
    p99Ms: 10,
    maxMs: 20,
    offeredPerSecond: 500,
    deliveredPerSecond: 500,
    mostConnections: hanging > 0 ? 20 : 0,
    refused: 0,
    missing: 0,
    cpu: cpu({}),
    ...fields,
  });
  const textOf = (...phases: IsolationPhase[]) =>
    reportOf(
      aRound(
        isolationRows({
          endpoints: 100,
          measured: 50,
          capacity: 2_000,
          offeredPerSecond: 1_200,
          laneLimit: 256,
          phases,
        }),
      ),
    );

  test('a phase is compared with the clean phases before and after it', () => {
    // The machine gets slower from phase to phase.
    const phases = [
      [0, 100],
      [1, 130],
      [0, 140],
      [50, 225],
      [0, 160],
    ] as const;
    const text = textOf(...phases.map(([hanging, p99Ms]) => phase(hanging, { p99Ms })));
    expect(lineOf(text, /isolation, 1 % hang: healthy p99 .*× clean/)).toMatch(
      /1\.08 .*≤ 1\.20 +met/,
    );
    expect(lineOf(text, /isolation, 50 % hang: healthy p99 .*× clean/)).toMatch(
      /1\.50 .*≤ 1\.20 +missed by 25 %/,
    );
    expect(lineOf(text, /isolation, clean: healthy p99/)).toMatch(/ 140 /);
  });

  test("Kafka's disk beyond the clean phases is compared with its budget", () => {
    const MB = 1024 * 1024;
    const disk = (mb: number, webhooks = 1_000) => ({
      disk: { bytes: mb * MB, webhooks, seconds: 64 },
    });
    const hostile = (as: IsolationPhase['as'], mb: number) =>
      phase(10, { as, ...disk(mb, 1_000 + 256) });
    // Ten destinations may store 1 MB and 64 times 16 KB, and 256 attempts take 1 MB: 21 MB.
    const text = textOf(
      phase(0, disk(5)),
      phase(10, disk(6)),
      phase(0, disk(5)),
      hostile('controls', 5 + 10.5),
      phase(0, disk(5)),
      hostile('batched', 5 + 42),
      phase(0, disk(5)),
    );
    expect(lineOf(text, /\(controls\): Kafka's disk/)).toMatch(/0\.5\d* .*met/);
    expect(lineOf(text, /\(batched\): Kafka's disk/)).toMatch(/2\.0\d* .*missed by 100 %/);
    expect(lineOf(text, /10 % hang: Kafka's disk/)).toMatch(/ 6\.\d+ /);
  });

  test('it says how busy the machine was, with the load and the endpoints', () => {
    const busy = cpu({ delivery: 4, bench: 6 }, 0.5);
    const text = textOf(phase(0, { cpu: busy }), phase(10));
    expect(lineOf(text, /clean: busy cores/)).toMatch(/ 1\.5/);
  });

  test('more connections than a lane may have miss the goal', () =>
    expect(
      lineOf(textOf(phase(0), phase(10, { mostConnections: 260 })), /most connections/),
    ).toMatch(/≤ 256 +missed by 2 %/));
});

describe('the soak', () => {
  /** @param mb of control by the minute */
  const aSoak = (mb: (minute: number) => number): SoakFigure => ({
    minutes: 60,
    samples: Array.from({ length: 60 }, (_, i) => ({
      minute: i + 1,
      rssMb: { control: mb(i + 1), ingest: 100 },
      cores: { control: 0.05, ingest: 0.25 },
    })),
    failed: 3,
    undelivered: 0,
  });
  const growthOf = (soak: SoakFigure) =>
    lineOf(reportOf(aRound(soakRows(soak))), /soak, control, growth/);

  test("a process's memory at 10 and 60 minutes and at most, its growth and cores", () => {
    const rows = soakRows(aSoak((minute) => 200 + minute));
    const control = rows.filter(({ title }) => title.startsWith('soak, control'));
    expect(control.map(({ value }) => Math.round((value ?? NaN) * 100) / 100)).toEqual([
      210, 260, 260, 60, 0.05,
    ]);
  });

  test.each([
    [
      'a process that grows by 60 MB an hour misses the goal',
      (minute: number) => 200 + minute,
      /missed/,
    ],
    [
      'growth in the first ten minutes does not count',
      (m: number) => 100 + 20 * Math.min(m, 10),
      /met/,
    ],
    ['memory that goes up and down is flat', (minute: number) => 300 + (minute % 7), /met/],
  ])('%s', (_, mb, expected) => expect(growthOf(aSoak(mb))).toMatch(expected));

  test.each([
    ['/flaky-50/a', 50],
    ['/flaky-/a', undefined],
    ['/ok/flaky-50', undefined],
  ])('%s fails once in %s requests', (path, every) => expect(failsEvery(path)).toBe(every));
});

describe('other rows', () => {
  test('the cost of a filter compares with the plain case of the same turn', () => {
    const drain = (routerSeconds: number): DrainFigure => ({
      count: 1_000_000,
      perSecond: 10_000,
      cpu: cpu({ router: routerSeconds }),
    });
    // The machine was twice as slow in the second turn.
    const cases = [
      { name: 'no filter', turns: [drain(50), drain(100)] },
      { name: 'filters match', turns: [drain(60), drain(120)] },
    ];
    expect(
      filtersRows({ destinations: 5, cases }).map(({ title, value }) => [title, value]),
    ).toEqual([
      ['router, no filter', 75],
      ['router, filters match', 90],
      ['router, filters match', 1.2],
      ['router, filters match: one filter', 3],
    ]);
  });

  test('each number of processes has rows, with the cost of each service', () => {
    const loop = (router: number) => aLoop({ count: 1_000, cpu: cpu({ router }) });
    const cases = [1, 2].map((processes) => ({
      processes,
      batches: loop(0.04),
      singles: loop(0.05 * processes),
    }));
    const rows = processesRows({ cases }, 20);
    const router = (of: string) => valueOf(rows, `${of}: router`, 'CPU-µs/webhook');
    expect(router('1 of each, single calls')).toBeCloseTo(50);
    expect(router('2 of each, single calls')).toBeCloseTo(100);
    expect(router('2 of each, batches of 100')).toBeCloseTo(40);
  });
});

describe('a verdict', () => {
  test.each([
    [1.5, 1.5, 'met'],
    [1.8, 1.5, 'missed by 20 %'],
    [1.501, 1.5, 'missed by 1 %'],
    [1, 0, 'missed'],
  ])('%d', (measured, goal, text) => expect(verdict(measured, goal)).toBe(text));
});

test('a column of a table is as wide as its widest cell', () =>
  expect(
    table([
      ['a', 'b'],
      ['long', 'x'],
    ]),
  ).toBe('a     b\n----  -\nlong  x'));
