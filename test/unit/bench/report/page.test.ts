import {
  type IsolationPhase,
  type Results,
  type Round,
} from '../../../../tools/bench/report/figures';
import { isolationGoal } from '../../../../tools/bench/report/columns';
import { plotsOf } from '../../../../tools/bench/report/plots';
import { pageOf, report } from '../../../../tools/bench/report/report';

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
  cpu: { seconds: 10, byName: {}, foreignCores: 0, stolenCores: 0 },
  ...fields,
});

const aRound = (phases: IsolationPhase[], fields: Partial<Round> = {}): Round => ({
  bare: [],
  failures: [],
  isolation: {
    endpoints: 100,
    measured: 50,
    capacity: 2_000,
    offeredPerSecond: 1_200,
    laneLimit: 256,
    phases,
  },
  ...fields,
});

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
  return {
    at: '2026-01-01T00:00:00.000Z',
    machine,
    settings: { isolation: '100 endpoints', bodyBytes: 1024 },
    rounds,
  };
}

const lineOf = (text: string, words: RegExp) =>
  text.split('\n').find((line) => words.test(line)) ?? '';

describe('the goal where endpoints hang', () => {
  test.each([
    [100, 1.2],
    [50, 1.2],
    [40, 1.25],
    [10, 2],
  ])('beside a clean p99 of %d ms is %d times that', (clean, limit) =>
    expect(isolationGoal(clean)).toEqual({ limit, is: 'most' }),
  );
});

describe('isolation in the report', () => {
  test('a phase is compared with the clean phases before and after it', () => {
    // The machine gets slower from phase to phase; the report compares each phase with its
    // neighbours.
    const phases = [
      [0, 100],
      [1, 130],
      [0, 140],
      [50, 225],
      [0, 160],
    ] as const;
    const text = report(
      results([aRound(phases.map(([hanging, p99Ms]) => phase(hanging, { p99Ms })))]),
    );
    expect(lineOf(text, /isolation, 1 % hang: healthy p99 .*× clean/)).toMatch(
      /1\.08 .*≤ 1\.20 +met/,
    );
    expect(lineOf(text, /isolation, 50 % hang: healthy p99 .*× clean/)).toMatch(
      /1\.50 .*≤ 1\.20 +missed by 25 %/,
    );
    expect(lineOf(text, /isolation, clean: healthy p99/)).toMatch(/ 140 /);
    expect(text.split('\n').filter((line) => /isolation, .*(met|missed)/.test(line))).toHaveLength(
      4,
    );
  });

  test("Kafka's disk beyond the clean phases is compared with its budget", () => {
    const MB = 1024 * 1024;
    const disk = (mb: number, webhooks = 1_000) => ({
      disk: { bytes: mb * MB, webhooks, seconds: 64 },
    });
    const hostile = (as: IsolationPhase['as'], mb: number) =>
      phase(10, { as, ...disk(mb, 1_000 + 256) });
    // Ten destinations may store 1 MB and 64 times 16 KB, and 256 attempts take 1 MB: 21 MB.
    const phases = [
      phase(0, disk(5)),
      phase(10, disk(6)),
      phase(0, disk(5)),
      hostile('controls', 5 + 10.5),
      phase(0, disk(5)),
      hostile('batched', 5 + 42),
      phase(0, disk(5)),
    ];
    const text = report(results([aRound(phases)]));
    expect(lineOf(text, /\(controls\): Kafka's disk/)).toMatch(/0\.5\d* .*met/);
    expect(lineOf(text, /\(batched\): Kafka's disk/)).toMatch(/2\.0\d* .*missed by 100 %/);
    expect(lineOf(text, /10 % hang: Kafka's disk/)).toMatch(/ 6\.\d+ /);
  });

  test('refused and missing calls and excess connections are faults', () => {
    const bad = phase(10, { refused: 2, missing: 3, mostConnections: 260 });
    const text = report(results([aRound([phase(0), bad])]));
    expect(text).toMatch(/isolation, 10 hang: 2\.00 calls that ingest did not accept/);
    expect(text).toMatch(/isolation, 10 hang: 3\.00 accepted and not delivered/);
    expect(text).toMatch(/isolation, 10 hang: 4\.00 connections more/);
  });
});

describe('the page', () => {
  const wrong = aRound([phase(0), phase(10)], { failures: [{ part: 'outage', why: 'no broker' }] });

  test('the columns of the page are as wide as their widest cell', () => {
    const lines = pageOf(results([wrong]), []).split('\n');
    const widths = new Set(lines.filter((line) => line.startsWith('|')).map((line) => line.length));
    expect(widths.size).toBe(1);
  });

  test('the page has the table, the method, the machine and the faults', () => {
    const page = pageOf(results([wrong]), ['![a](a.svg)']);
    expect(page).toMatch(/\| isolation, clean: healthy p99 +\| 10\.0 +\|/);
    expect(page).toMatch(/- isolation: .*; 100 endpoints\./);
    expect(page).toMatch(/2 cores \(a cpu\)/);
    expect(page).toMatch(/round 1, outage: could not be measured: no broker/);
  });

  test('a plot has a bar for each phase, and a part without figures has no plot', () => {
    const plots = plotsOf([aRound([phase(0), phase(1), phase(50)])]);
    expect([...plots.keys()]).toEqual(['isolation']);
    expect(plots.get('isolation')?.match(/>(clean|\d+ % hang)<\/text>/g)).toHaveLength(3);
    expect(plotsOf([{ bare: [], failures: [] }]).size).toBe(0);
  });
});
