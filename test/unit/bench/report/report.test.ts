import { defined } from '../../../../shared/collections/defined';
import { type CpuUse } from '../../../../tools/harness/usage';
import {
  type DeliveryFigure,
  type PipelineFigure,
  type Results,
  type Round,
  type WaitingPhase,
} from '../../../../tools/bench/report/figures';
import { least, most, verdict } from '../../../../tools/bench/report/columns';
import { report, usageRows } from '../../../../tools/bench/report/report';
import { table } from '../../../../tools/bench/report/table';

const cpu = (byName: Record<string, number>): CpuUse => ({
  seconds: 10,
  byName,
  foreignCores: 0.1,
  stolenCores: 0,
});

function aLoop(fields: Partial<PipelineFigure> = {}): PipelineFigure {
  return {
    count: 10_000,
    callsPerRequest: 100,
    connections: 8,
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
    eventsPerPost: 1,
    ...fields,
  };
}

function results(rounds: Round[]): Results {
  const machine = {
    cores: 2,
    cpu: 'a cpu',
    memoryGb: 8,
    system: 'linux',
    node: 'v20',
    java: '17',
    kafka: '4.1.2',
  };
  return { at: '2026-01-01T00:00:00.000Z', machine, settings: {}, rounds };
}

const aRound = (microsEach: number, batches?: PipelineFigure): Round => ({
  bare: [{ count: 1, microsEach, perSecond: 30_000 }],
  failures: [],
  ...defined({ batches }),
});

const lineOf = (text: string, words: RegExp) =>
  text.split('\n').find((line) => words.test(line)) ?? '';

describe('the report', () => {
  test('a ratio is taken within a round, and the report shows the median', () => {
    const text = report(results([aRound(20, aLoop()), aRound(40, aLoop()), aRound(30, aLoop())]));
    expect(lineOf(text, /all, batches of 100: services {2}.*× bare/)).toMatch(
      / 3\.00 +2\.25 to 4\.50 .*≤ 4\.00 +met/,
    );
  });

  test('the CPU of a thousand webhooks includes the broker, but not load and receiver', () => {
    const text = report(results([aRound(20, aLoop())]));
    expect(lineOf(text, /services and broker .*CPU-s/)).toMatch(/ 0\.120 +one run /);
    expect(lineOf(text, /services and broker .*× bare/)).toMatch(
      / 6\.00 +one run .*≤ 4\.85 +missed by 24 %/,
    );
  });

  test('goals for cores and rates are in proportion to the speed of the machine', () => {
    const used = aLoop().cpu;
    const times = { count: 1, p50Ms: 2, p99Ms: 9, maxMs: 20, missing: 0 };
    const round = aRound(27.5, undefined);
    const sustained = {
      ...aLoop(),
      seconds: 60,
      perSecond: 6_000,
      worstSecond: 1,
      rssMb: { before: {}, after: {} },
    };
    const load = {
      idle: { cpu: used, rssMb: {} },
      rates: [{ ...times, perSecond: 50, cpu: used }],
    };
    const text = report(results([{ ...round, load, sustained }]));
    expect(lineOf(text, /50 single calls\/s where the bare loop takes 55/)).toMatch(
      / 0\.240 .*≤ 0\.200 +missed by 20 %/,
    );
    expect(lineOf(text, /sustained.* where the bare loop takes 33/)).toMatch(
      / 5,000 .*≥ 9,000 +missed/,
    );
  });

  test('the report adds the process that all services share, and the broker', () => {
    const idle = {
      cpu: cpu({ all: 0.2, broker: 0.3, bench: 1 }),
      rssMb: { all: 250, broker: 220, bench: 150 },
    };
    const text = report(results([{ ...aRound(20), load: { idle, rates: [] } }]));
    expect(lineOf(text, /all, without calls .*cores/)).toMatch(/ 0\.0500 .*met/);
    expect(lineOf(text, /all, without calls .*MB/)).toMatch(/ 470 .*met/);
  });

  test('the report has no rows for parts that did not run', () => {
    const text = report(results([aRound(20)]));
    expect(text).not.toMatch(/^(delivery alone|call sent)/m);
  });

  test('the report has no sum if a process was not on this machine', () => {
    const text = report(results([aRound(20, aLoop({ cpu: cpu({ ingest: 1 }) }))]));
    expect(lineOf(text, /services and broker/)).toBe('');
  });

  test('the report lists missing, repeated and diverted deliveries as faults', () => {
    const text = report(results([aRound(20), aRound(20, aLoop({ missing: 3 }))]));
    expect(text).toMatch(/Faults\n +round 2, batches: 3\.00 accepted and not delivered/);
    expect(report(results([aRound(20, aLoop())]))).not.toMatch(/Faults/);
  });
});

describe('batches of events in the report', () => {
  test('batches are compared with single POSTs, for delivery alone and for all services', () => {
    const alone = (seconds: number, eventsPerPost: number): DeliveryFigure => ({
      ...aLoop({ cpu: cpu({ delivery: seconds, broker: 0.3 }), eventsPerPost }),
      warmUp: 1,
      cold: cpu({}),
      warnings: {},
    });
    const all = {
      single: aLoop(),
      batched: aLoop({ cpu: cpu({ ...aLoop().cpu.byName, delivery: 0.1 }) }),
    };
    const batched = {
      maxEvents: 50,
      delivery: { single: alone(1, 1), batched: alone(0.4, 49) },
      all,
    };
    const text = report(results([{ ...aRound(20), batched }]));
    expect(lineOf(text, /^delivery alone, batches .*× single/)).toMatch(/ 0\.400 /);
    expect(lineOf(text, /^delivery alone with the broker, batches .*× single/)).toMatch(/ 0\.538 /);
    expect(lineOf(text, /^all services with the broker, batches .*× single/)).toMatch(/ 0\.750 /);
    expect(lineOf(text, /^batches of up to 50 events: delivery alone/)).toMatch(/ 49\.0 /);
  });
});

describe('a verdict', () => {
  test.each([
    [1.5, most(1.5), 'met'],
    [1.8, most(1.5), 'missed by 20 %'],
    [1.501, most(1.5), 'missed by 1 %'],
    [6_000, least(5_000), 'met'],
    [4_000, least(5_000), 'missed by 20 %'],
  ])('%d', (measured, goal, text) => expect(verdict(measured, goal)).toBe(text));
});

describe('a table', () => {
  test('a column is as wide as its widest cell', () => {
    expect(
      table([
        ['a', 'b'],
        ['long', 'x'],
      ]),
    ).toBe('a     b\n----  -\nlong  x');
  });
});

const usage = (last: number, cores: number) => ({
  cores,
  rssMb: { first: 1, last, most: last + 1 },
});
const waitingPhase = (name: string, of: WaitingPhase['of']): WaitingPhase => ({
  name,
  fromMs: 0,
  toMs: 1,
  of,
  lateness: { count: 1, p50Ms: 1, p99Ms: 1, maxMs: 1, missing: 0 },
});
const aWaitingRound = (phases: WaitingPhase[]): Round => ({
  bare: [],
  failures: [],
  waiting: { count: 10, perSecond: 1, seconds: 1, phases },
});

describe('usage while deliveries wait', () => {
  test('each phase has a column, and a process that started later has empty cells before', () => {
    const one = waitingPhase('one', { retry: usage(80, 0.1) });
    const two = waitingPhase('two', { retry: usage(90, 0.2), 'retry 2': usage(70, 0.3) });
    expect(usageRows([aWaitingRound([one, two])])).toEqual([
      ['while deliveries wait', 'one', 'two'],
      ['retry: MB at the end', '80.0', '90.0'],
      ['retry: MB at most', '81.0', '91.0'],
      ['retry: cores', '0.100', '0.200'],
      ['retry 2: MB at the end', '', '70.0'],
      ['retry 2: MB at most', '', '71.0'],
      ['retry 2: cores', '', '0.300'],
    ]);
  });

  test('a usage cell is the median over the rounds', () => {
    const rounds = [10, 30, 20].map((mb) =>
      aWaitingRound([waitingPhase('one', { retry: usage(mb, 0) })]),
    );
    expect(usageRows(rounds)[1]).toEqual(['retry: MB at the end', '20.0']);
  });

  test('usage has no rows if it was not measured', () =>
    expect(usageRows([{ bare: [], failures: [] }])).toEqual([]));
});
