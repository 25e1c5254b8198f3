import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../../bin/service-list';
import { type OutRecord } from '../../../shared/kafka/port';
import { tierTopic } from '../../../shared/kafka/topics';
import { loadSettings } from '../../../shared/runtime/settings';
import { besideIn, type RunningServices, startReady } from '../../harness/services';
import { openLoop } from '../../harness/timing';
import { type Usage, watchUsage } from '../../harness/usage';
import { createCustomers, type Customer } from '../load';
import { bodyOf } from '../payload';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { aDelivery, deliveryRecord, openSeeder, type Seeder } from '../seed';
import { type Bench, type Running, withSystem } from '../setup';
import { Lateness, type LatenessFigure } from './lateness';

/**
 * Deliveries that wait in the two longest tiers, so that none of them falls due during the run, and
 * a small steady flow through the shortest tier, whose due times are measured: with nothing
 * waiting, with all waiting, across a restart of retry, and with two retry processes. All records
 * are written directly to the tiers.
 */

/** Time for the records that fell due last. */
const AFTER_MS = 5_000;
/**
 * A record that falls due so shortly before a change (retry stops, another joins) is late because
 * of it: it belongs to the new phase.
 */
const CHANGED_MS = 1_000;
/** A guess, for the progress line. */
const WRITTEN_PER_MS = 15;

export interface WaitingSize {
  /** of waiting deliveries */
  count: number;
  /** for the flow through the shortest tier */
  perSecond: number;
  /** of each phase */
  seconds: number;
}

interface WaitingFigure {
  phases: (Usage & { name: string; lateness: LatenessFigure })[];
}

export function waitingRows({ phases }: WaitingFigure): Row[] {
  return phases.flatMap(({ name, lateness, of }) => [
    ...rows(`waiting, ${name}: late`, [
      [', p50', 'ms', lateness.p50Ms],
      [', p99', 'ms', lateness.p99Ms],
      [', longest', 'ms', lateness.maxMs, 1_000],
    ]),
    ...Object.entries(of).flatMap(([process, { cores, rssMb }]) =>
      rows(`waiting, ${name}: ${process}`, [
        [', at the end', 'MB', rssMb.last],
        [', at most', 'MB', rssMb.most],
        ['', 'cores', cores],
      ]),
    ),
  ]);
}

interface Rig {
  running: Running;
  /** by the name in the report */
  retries: Map<string, RunningServices>;
  seeder: Seeder;
  customer: Customer;
  size: WaitingSize;
  progress: Progress;
}

export function measureWaiting(
  bench: Bench,
  size: WaitingSize,
  progress: Progress,
): Promise<WaitingFigure> {
  const others = SERVICES.filter((name) => name !== 'retry');
  return withSystem(bench, { name: 'waiting', services: others }, async (running) => {
    const { system } = running;
    const [customer] = await createCustomers(system, [`${bench.endpoint.origin}/ok/`]);
    if (!customer) throw new Error('there is no customer');
    const seeder = await openSeeder(system.env);
    const retries = new Map<string, RunningServices>();
    try {
      retries.set('retry', await startReady(system, 'retry'));
      return await measure({ running, retries, seeder, customer, size, progress });
    } finally {
      await seeder.close();
      for (const retry of retries.values()) await retry.stop();
    }
  });
}

async function measure(rig: Rig): Promise<WaitingFigure> {
  const { running, retries, seeder, customer, size, progress } = rig;
  const { system } = running;
  const tiers = [...loadSettings(system.env).WAYPOST_RETRY_DELAYS].sort((a, b) => a - b);
  const [shortest = 0] = tiers;
  const lateness = await Lateness.watch(seeder.kafka, shortest);
  const flow = startFlow(rig, tierTopic(shortest));
  const spent: { name: string; usage: Usage }[] = [];
  const phase = async (name: string, change: () => Promise<void> = () => Promise.resolve()) => {
    const ms = size.seconds * 1000;
    const usage = await progress.during(name, ms, () => watchUsage(() => pidsOf(rig), ms, change));
    spent.push({ name, usage });
  };
  try {
    // From then on records fall due at the rate of the writes.
    await progress.during('the flow begins', shortest, () => pause(shortest));
    await phase('nothing waits');
    await progress.during(`writing ${String(size.count)}`, size.count / WRITTEN_PER_MS, () =>
      seeder.append(waitingRecords(customer, tiers.slice(-2).map(tierTopic), size.count)),
    );
    // The records that fall due in the next phase are then written during it, not beside a million
    // others.
    await progress.during('they wait', shortest, () => pause(shortest));
    await phase('all wait');
    await phase('retry restarts', async () => {
      await retries.get('retry')?.stop();
      retries.set('retry', await startReady(system, 'retry'));
    });
    retries.set('retry 2', await startReady(await besideIn(system, 'retry'), 'retry'));
    await phase('two retries');
    await pause(AFTER_MS);
    return {
      phases: spent.map(({ name, usage }) => ({
        name,
        ...usage,
        lateness: lateness.between(usage.fromMs - CHANGED_MS, usage.toMs - CHANGED_MS),
      })),
    };
  } finally {
    await flow.stop();
    await lateness.stop();
  }
}

function pidsOf({ running, retries }: Rig): Record<string, number> {
  const { receiver: _receiver, bench: _bench, ...pids } = running.pids;
  return {
    ...pids,
    ...Object.fromEntries([...retries].map(([name, { pids }]) => [name, pids.retry ?? 0])),
  };
}

function startFlow({ seeder, customer, size }: Rig, tier: string): { stop: () => Promise<void> } {
  let stopped = false;
  let next = 0;
  const flow = openLoop(
    size.perSecond,
    () => !stopped,
    () => seeder.append([waitingRecord(customer, tier, 'flow', next++)]),
  );
  flow.catch(() => undefined);
  return {
    stop: () => {
      stopped = true;
      return flow;
    },
  };
}

function* waitingRecords(
  customer: Customer,
  tiers: readonly string[],
  count: number,
): Generator<OutRecord> {
  for (let i = 0; i < count; i++) {
    yield waitingRecord(customer, tiers[i % tiers.length] ?? '', 'mass', i);
  }
}

const BODY = JSON.stringify(bodyOf(0, 'bench-waiting'));

/** A delivery with one attempt, as after a failure. */
function waitingRecord(customer: Customer, tier: string, run: string, i: number): OutRecord {
  const delivery = aDelivery(i, { ...customer, messageId: `bench-${run}-${String(i)}` });
  return deliveryRecord(tier, { ...delivery, attempt: 1, hop: 1, reason: 'backoff' }, BODY);
}
