import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '../../../bin/service-list';
import { besideIn, type RunningServices, startReady } from '../../harness/services';
import { clockMs, until } from '../../harness/timing';
import { type Times, timesOf } from '../arithmetic';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { type Bench, withSystem } from '../setup';
import { SteadyCalls } from '../steady-calls';

/**
 * A rolling upgrade under an open loop of single calls: a second process of each service on the
 * path joins, then the first one leaves. Measures from just before a call to the arrival of its
 * webhook, of the calls in the first seconds of each step.
 */

const ROLLED = ['ingest', 'router', 'delivery'] as const satisfies readonly ServiceName[];
const ARRIVAL_MS = 30_000;
const POLL_MS = 100;

export interface RollingSize {
  perSecond: number;
  warmUpSeconds: number;
  /** of each step */
  seconds: number;
}

interface RollingFigure {
  perSecond: number;
  /** accepted but never delivered */
  missing: number;
  /** the calls that were sent in each step */
  steps: ({ name: string } & Times)[];
}

export function rollingRows({ steps, missing }: RollingFigure): Row[] {
  return [
    ...steps.flatMap(({ name, p50Ms, p99Ms }) =>
      rows(`rolling upgrade, ${name}`, [
        [', p50', 'ms', p50Ms],
        [', p99', 'ms', p99Ms, 300],
      ]),
    ),
    ...rows('rolling upgrade', [[', not arrived', 'webhooks', missing, 0]]),
  ];
}

export async function measureRolling(
  bench: Bench,
  size: RollingSize,
  progress: Progress,
): Promise<RollingFigure> {
  const others = SERVICES.filter((name) => !(ROLLED as readonly ServiceName[]).includes(name));
  return withSystem(bench, { name: 'rolling', services: others }, async ({ system }) => {
    const running = new Map<ServiceName, RunningServices>();
    const stepMs = size.seconds * 1_000;
    try {
      for (const name of ROLLED) running.set(name, await startReady(system, name));
      const customers = await createCustomers(system, [`${bench.endpoint.origin}/ok/rolling`]);
      bench.endpoint.reset({ ids: true });
      const load = new SteadyCalls(size.perSecond, customers, system.ingestUrl, 'rolling');
      const steps: { name: string; atMs: number }[] = [];
      const step = async (name: string, change?: () => Promise<void>) => {
        steps.push({ name, atMs: clockMs() });
        const over = pause(stepMs);
        await Promise.all([progress.during(name, stepMs, () => over), change?.()]);
      };
      await progress.during('warm-up', size.warmUpSeconds * 1_000, () =>
        pause(size.warmUpSeconds * 1_000),
      );
      await step('nothing changes');
      for (const name of ROLLED) {
        const old = running.get(name);
        await step(`${name} joins`, async () => {
          const beside = await besideIn(system, name);
          running.set(name, await startReady(beside, name));
          if (name === 'ingest') load.moveTo(beside.ingestUrl);
        });
        await step(`${name} leaves`, () => old?.stop() ?? Promise.resolve());
      }
      const sentAt = await load.stop();
      await until(
        async () => (await bench.endpoint.report()).count >= sentAt.size,
        POLL_MS,
        ARRIVAL_MS,
      );
      const { arrivals } = await bench.endpoint.report();
      return { perSecond: size.perSecond, ...outcomeOf({ steps, stepMs, sentAt, arrivals }) };
    } finally {
      for (const service of running.values()) await service.stop();
    }
  });
}

interface Measured {
  steps: readonly { name: string; atMs: number }[];
  stepMs: number;
  sentAt: ReadonlyMap<string, number>;
  arrivals: ReadonlyMap<string, number>;
}

/** Sorts the calls by the step in which they were sent. Pure. */
export function outcomeOf({
  steps,
  stepMs,
  sentAt,
  arrivals,
}: Measured): Omit<RollingFigure, 'perSecond'> {
  const latencies = new Map(steps.map(({ name }) => [name, [] as number[]]));
  let missing = 0;
  for (const [id, atMs] of sentAt) {
    const arrivedAt = arrivals.get(id);
    if (arrivedAt === undefined) {
      missing++;
      continue;
    }
    const step = steps.findLast((each) => each.atMs <= atMs && atMs < each.atMs + stepMs);
    if (step) latencies.get(step.name)?.push(arrivedAt - atMs);
  }
  return { missing, steps: [...latencies].map(([name, all]) => ({ name, ...timesOf(all) })) };
}
