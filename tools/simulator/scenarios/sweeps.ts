import { type LaneOptions } from '../../../services/delivery/lanes/lane-context';
import { readable } from '../../bench/arithmetic';
import { answers, badFrom, breaksAt, failsSometimes, hangs, refuses, works } from '../endpoint';
import { play, type Options, type Scenario } from '../scenario';
import { settingsOf, type DestinationSpec, type Ended } from '../world';

/**
 * Runs the settings of lanes and circuits with other values: the basis of the defaults in
 * services/delivery/tuning.ts.
 */

type Change = (lane: LaneOptions) => LaneOptions;

/** The world to run for each value, and its findings. */
interface Look {
  column: string;
  destinations: DestinationSpec[];
  trafficMs: number;
  show: (ended: Ended) => number;
}

async function sweep(options: Options, head: string, values: [string, Change][], looks: Look[]) {
  const rows = [[head, ...looks.map(({ column }) => column)]];
  const findings = [];
  for (const [name, change] of values) {
    const row = [name];
    for (const { destinations, trafficMs, show } of looks) {
      const spec = {
        seed: options.seed,
        destinations,
        trafficMs: options.short ? trafficMs / 10 : trafficMs,
      };
      const ended = await play(
        { ...spec, settings: { lane: change(settingsOf().lane) } },
        options,
        `${head} ${name}`,
      );
      findings.push(...ended.sound.filter(({ goal }) => goal));
      row.push(readable(show(ended)));
    }
    rows.push(row);
  }
  const broken = findings.filter(({ value }) => value > 0);
  return { findings: broken, table: rows };
}

function one(
  behaviour: DestinationSpec['urls'][number],
  more: Partial<DestinationSpec>,
): DestinationSpec[] {
  return [{ id: 'sick', label: 'sick', urls: [behaviour], ...more }];
}

const perDelivery = (what: string) => (ended: Ended) =>
  ended.figures.counted(`sick: ${what}`) / ended.figures.counted('sick: born');
const p99 = ({ figures }: Ended) => figures.of('sick: first wait').percentile(0.99) / 1_000;

export const sweepFailures: Scenario = {
  name: 'sweep-failures',
  about: 'failures in a row that open a circuit',
  play(options) {
    const values = [3, 5, 10, 20].map((failuresToOpen): [string, Change] => [
      String(failuresToOpen),
      (lane) => ({ ...lane, circuit: { ...lane.circuit, failuresToOpen } }),
    ]);
    const flaky = (share: number) => ({
      destinations: one(failsSometimes(share, 50), { perSecond: 50 }),
      trafficMs: 300_000,
    });
    const dead = { destinations: one(refuses, { perSecond: 150 }), trafficMs: 60_000 };
    const hung = (perSecond: number) => ({
      destinations: one(badFrom(0, 600_000, hangs, answers(50)), { perSecond }),
      trafficMs: 300_000,
    });
    return sweep(options, 'failures', values, [
      {
        column: '30 % failing: sent away, share',
        ...flaky(0.3),
        show: perDelivery('waits, circuit_open'),
      },
      { column: 'first wait p99, s', ...flaky(0.3), show: p99 },
      {
        column: '50 % failing: sent away, share',
        ...flaky(0.5),
        show: perDelivery('waits, circuit_open'),
      },
      {
        column: 'dead, 150/s: most open',
        ...dead,
        show: ({ figures }) => figures.counted('sick: most open'),
      },
      { column: 'requests a delivery', ...dead, show: perDelivery('requests') },
      {
        column: 'hung, 1/s: most open',
        ...hung(1),
        show: ({ figures }) => figures.counted('sick: most open'),
      },
      {
        column: 'hung, 50/s: requests',
        ...hung(50),
        show: ({ figures }) => figures.counted('sick: requests'),
      },
    ]);
  },
};

export const sweepWidth: Scenario = {
  name: 'sweep-width',
  about: 'how wide a lane begins, and how wide it may get',
  play(options) {
    const widths = [
      [5, 256],
      [10, 256],
      [20, 64],
      [20, 128],
      [20, 256],
      [20, 512],
      [50, 256],
    ] as const;
    const values = widths.map(([start, ceiling]): [string, Change] => [
      `${String(start)} to ${String(ceiling)}`,
      (lane) => ({ ...lane, start, ceiling, circuit: { ...lane.circuit, recoveredAt: start } }),
    ]);
    const burst = (behaviour: DestinationSpec['urls'][number]) => ({
      destinations: one(behaviour, {
        bursts: [{ atMs: 0, count: options.short ? 1_000 : 10_000 }],
      }),
      trafficMs: 1_000,
    });
    const took = ({ figures }: Ended) => figures.counted('sick: last ended at') / 1_000;
    const hung = {
      destinations: one(badFrom(20_000, 60_000, hangs, answers(100)), { perSecond: 300 }),
      trafficMs: 60_000,
    };
    return sweep(options, 'width', values, [
      { column: '10,000 at 100 ms: s', ...burst(answers(100)), show: took },
      { column: 'works on 30: s', ...burst(works(30, 100)), show: took },
      {
        column: 'most at once',
        ...burst(works(30, 100)),
        show: ({ figures }) => figures.counted('sick: most open'),
      },
      {
        column: 'breaks at 200: requests a delivery',
        ...burst(breaksAt(200, 100)),
        show: perDelivery('requests'),
      },
      {
        column: 'hangs at 300/s: most open',
        ...hung,
        show: ({ figures }) => figures.counted('sick: most open'),
      },
    ]);
  },
};

export const sweepWait: Scenario = {
  name: 'sweep-wait',
  about: 'how long a delivery may be expected to wait in its lane',
  play(options) {
    const values = [1_000, 2_500, 5_000, 10_000, 30_000].map((maxWaitMs): [string, Change] => [
      `${String(maxWaitMs / 1_000)} s`,
      (lane) => ({ ...lane, maxWaitMs }),
    ]);
    const burst = (behaviour: DestinationSpec['urls'][number]) => ({
      destinations: one(behaviour, {
        bursts: [{ atMs: 0, count: options.short ? 1_000 : 10_000 }],
      }),
      trafficMs: 1_000,
    });
    const steady = (behaviour: DestinationSpec['urls'][number], perSecond: number) => ({
      destinations: one(behaviour, { perSecond }),
      trafficMs: 300_000,
    });
    const took = ({ figures }: Ended) => figures.counted('sick: last ended at') / 1_000;
    const hops = ({ figures }: Ended) => figures.counted('sick: most hops');
    const held = ({ figures }: Ended) => figures.counted('most bytes held') / 1_048_576;
    const hung = badFrom(20_000, 60_000, hangs, answers(100));
    return sweep(options, 'most wait', values, [
      { column: '10,000 at 1 s: s', ...burst(answers(1_000)), show: took },
      { column: 'most hops', ...burst(answers(1_000)), show: hops },
      { column: 'works on 5: s', ...burst(works(5, 100)), show: took },
      { column: 'most hops', ...burst(works(5, 100)), show: hops },
      {
        column: 'too much by a quarter: sent away, share',
        ...steady(works(4, 100), 50),
        show: perDelivery('waits, lane_full'),
      },
      {
        column: 'hangs at 300/s: MB held',
        destinations: one(hung, { perSecond: 300 }),
        trafficMs: 60_000,
        show: held,
      },
    ]);
  },
};
