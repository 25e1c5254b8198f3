import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openPglite } from '../../../services/control/history/pglite';
import { migrate } from '../../../services/control/history/schema';
import { AttemptRows } from '../../../shared/model/attempt-rows';
import { type Destination } from '../../../shared/model/config';
import { ATTEMPTS, WEBHOOKS } from '../../../shared/kafka/topics';
import { type OutRecord } from '../../../shared/kafka/port';
import { apiOf } from '../../harness/api';
import { type SystemEnv } from '../../harness/services';
import { clockMs, openLoop } from '../../harness/timing';
import { cpuBetween, readCpu, residents } from '../../harness/usage';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { aDelivery, openSeeder, type Seeder, SOURCE, sourceOf } from '../seed';
import { type Bench, withSystem } from '../setup';

/**
 * Control alone with many destinations, of which a part gets deliveries, while consoles show the
 * overview: its CPU, its memory, and the time of an answer. The attempts are written as delivery
 * writes them.
 */

export interface UsageSize {
  destinations: number;
  /** of these, how many get deliveries */
  busy: number;
  /** deliveries, to all of them together */
  perSecond: number;
  consoles: number;
  /** before the measurement */
  warmUpSeconds: number;
  seconds: number;
}

export interface UsageFigure {
  size: UsageSize;
  cores: number;
  /** MB of control, at most */
  rssMb: number;
  /** ms of each answer of the overview */
  answersMs: number[];
}

/** Delivery writes the successes of a tenth of a second as one record. */
const RECORDS_PER_SECOND = 10;
/** A console asks for the overview in this interval. */
const ASKS_EVERY_MS = 5_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const GOALS = { cores: 0.15, mb: 400, answerMs: 50 };

export function usageRows({ size, cores, rssMb, answersMs }: UsageFigure): Row[] {
  const sorted = [...answersMs].sort((a, b) => a - b);
  const share = (part: number) => sorted[Math.floor((sorted.length - 1) * part)];
  const of = `${String(size.destinations)} destinations, ${String(size.perSecond)}/s, ${String(size.consoles)} consoles`;
  return rows(`control, ${of}`, [
    ['', 'cores', cores, GOALS.cores],
    [', at most', 'MB', rssMb, GOALS.mb],
    [', an answer of the overview, median', 'ms', share(1 / 2), GOALS.answerMs],
    [', p95', 'ms', share(0.95)],
  ]);
}

export async function measureUsage(
  bench: Bench,
  size: UsageSize,
  progress: Progress,
): Promise<UsageFigure> {
  // A busy machine takes a minute to create them at the priority of control.
  const before = async ({ env }: SystemEnv) => {
    const database = await openPglite(join(env.WAYPOST_DATA_DIR ?? '', 'history'));
    await migrate(database);
    await database.close();
  };
  const options = { name: 'usage', services: ['control'] as const, before };
  return withSystem(bench, options, async ({ system, pids }) => {
    const seeder = await openSeeder(system.env);
    const control = { control: pids.control ?? NaN };
    const answersMs: number[] = [];
    const ask = async (path: string) => {
      const startedAt = clockMs();
      try {
        const { status } = await apiOf(system).control('GET', path);
        if (status !== 200) throw new Error(`GET ${path} was answered with ${String(status)}`);
      } catch (error) {
        // A console asks again. The figure shows how long it waited.
        if ((error as Error).name !== 'TimeoutError') throw error;
      }
      answersMs.push(clockMs() - startedAt);
    };
    let isOn = true;
    try {
      progress.note('destinations');
      const destinations = await seed(seeder, size);
      const load = writeAttempts(seeder, destinations, size.perSecond, () => isOn);
      const consoles = Array.from({ length: size.consoles }, async (_, i) => {
        await pause((i * ASKS_EVERY_MS) / size.consoles);
        while (isOn) {
          await ask(`/overview?trend=true&since=${aDayAgo()}`);
          await pause(ASKS_EVERY_MS);
        }
      });
      const work = Promise.all([load, ...consoles]);
      // A failure is reported at the end, and not as one that nobody handles.
      work.catch(() => undefined);
      await progress.during('warming up', size.warmUpSeconds * 1_000, () =>
        pause(size.warmUpSeconds * 1_000),
      );
      answersMs.length = 0;
      const before = readCpu(control);
      let rssMb = 0;
      for (let second = 0; second < size.seconds; second++) {
        await pause(1_000);
        rssMb = Math.max(rssMb, residents(control).control ?? NaN);
      }
      const { byName, seconds } = cpuBetween(before, readCpu(control));
      isOn = false;
      await work;
      return { size, cores: (byName.control ?? NaN) / seconds, rssMb, answersMs };
    } finally {
      isOn = false;
      await seeder.close();
    }
  });
}

/** Returns the time to the minute, as the console does, so that consoles ask the same. */
function aDayAgo(): string {
  return new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - DAY_MS).toISOString();
}

/** @returns the destinations that get deliveries */
async function seed(
  seeder: Seeder,
  { destinations: count, busy }: UsageSize,
): Promise<Destination[]> {
  await seeder.write([{ kind: 'source', data: sourceOf(SOURCE) }]);
  const urls = Array.from(
    { length: count },
    (_, i) => `https://customer-${String(i)}.example/hook`,
  );
  return (await seeder.destinations(urls)).slice(0, busy);
}

/** Writes successes of first attempts, to the destinations in rotation. */
function writeAttempts(
  seeder: Seeder,
  destinations: readonly Destination[],
  perSecond: number,
  isOn: () => boolean,
): Promise<void> {
  const each = Math.round(perSecond / RECORDS_PER_SECOND);
  let next = 0;
  return openLoop(RECORDS_PER_SECOND, isOn, async () => {
    const successes = new AttemptRows();
    for (let i = 0; i < each; i++) addSuccess(successes, destinations, next++);
    const record: OutRecord = {
      topic: ATTEMPTS,
      key: `bench-${String(next)}`,
      value: successes.toString(),
    };
    await seeder.append([record]);
  });
}

function addSuccess(to: AttemptRows, destinations: readonly Destination[], i: number): void {
  const destination = destinations[i % destinations.length];
  const webhook = destination?.webhooks[0];
  if (!destination || !webhook) throw new Error('there is no destination');
  const messageId = `bench-usage-${String(i)}`;
  const durationMs = 20 + (i % 100);
  const delivery = aDelivery(i, { messageId, sourceId: SOURCE, destinationId: destination.id });
  to.add({
    delivery,
    record: { topic: WEBHOOKS, partition: 0, offset: i },
    url: {
      url: webhook.id,
      origin: webhook.origin,
      destinationVersion: 1,
      outcome: 'delivered',
      status: 200,
      durationMs,
      response: { headers: { 'content-type': 'application/json' }, body: '{}', truncated: false },
    },
    durationMs,
    atMs: delivery.acceptedAt + durationMs,
  });
}
