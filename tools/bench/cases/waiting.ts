import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../../bin/service-list';
import { type OutRecord } from '../../../shared/kafka/port';
import { tierTopic } from '../../../shared/kafka/topics';
import { loadSettings } from '../../../shared/runtime/settings';
import { type RunningServices, startReady } from '../../harness/services';
import { openLoop } from '../../harness/timing';
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
 * waiting, with all waiting, and across a restart of retry. All records are written directly to the
 * tiers.
 */

/** Time for the records that fell due last. */
const AFTER_MS = 5_000;
/**
 * A record that falls due so shortly before retry stops is late because of it: it belongs to the
 * new phase.
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
  phases: { name: string; lateness: LatenessFigure }[];
}

export function waitingRows({ phases }: WaitingFigure): Row[] {
  return phases.flatMap(({ name, lateness }) =>
    rows(`waiting, ${name}: late`, [
      [', p50', 'ms', lateness.p50Ms],
      [', p99', 'ms', lateness.p99Ms],
      [', longest', 'ms', lateness.maxMs, 1_000],
    ]),
  );
}

interface Rig {
  running: Running;
  retry: RunningServices;
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
    const retry = await startReady(system, 'retry');
    const rig = { running, retry, seeder, customer, size, progress };
    try {
      return await measure(rig);
    } finally {
      await seeder.close();
      await rig.retry.stop();
    }
  });
}

async function measure(rig: Rig): Promise<WaitingFigure> {
  const { running, seeder, customer, size, progress } = rig;
  const { system } = running;
  const tiers = [...loadSettings(system.env).WAYPOST_RETRY_DELAYS].sort((a, b) => a - b);
  const [shortest = 0] = tiers;
  const lateness = await Lateness.watch(seeder.kafka, shortest);
  const flow = startFlow(rig, tierTopic(shortest));
  const spent: { name: string; fromMs: number; toMs: number }[] = [];
  const phase = async (name: string, change?: () => Promise<void>) => {
    const fromMs = Date.now();
    const ms = size.seconds * 1_000;
    await progress.during(name, ms, () => Promise.all([pause(ms), change?.()]));
    spent.push({ name, fromMs, toMs: Date.now() });
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
      await rig.retry.stop();
      rig.retry = await startReady(system, 'retry');
    });
    await pause(AFTER_MS);
    return {
      phases: spent.map(({ name, fromMs, toMs }) => ({
        name,
        lateness: lateness.between(fromMs - CHANGED_MS, toMs - CHANGED_MS),
      })),
    };
  } finally {
    await flow.stop();
    await lateness.stop();
  }
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
