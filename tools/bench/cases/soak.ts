import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../../bin/service-list';
import { clockMs, openLoop, until } from '../../harness/timing';
import { cpuBetween, type CpuReading, readCpu, residents } from '../../harness/usage';
import { Calls, createCustomers } from '../load';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { sum } from '../arithmetic';
import { type Bench, withSystem } from '../setup';

/**
 * All services with the embedded broker and database under a constant load for an hour: the memory
 * of each process. One endpoint of several fails now and then, because attempts that fail take
 * other ways: tiers, details in the history, logs.
 */

const CONNECTIONS = 8;
const MINUTE_MS = 60_000;
/** The first two tiers take half of it. */
const ARRIVAL_MS = 60_000;
const POLL_MS = 1_000;

export interface SoakSize {
  minutes: number;
  /** calls, to all endpoints together */
  perSecond: number;
  endpoints: number;
  /** number of requests to the first endpoint of which one gets a 503 */
  failsEvery: number;
}

export interface SoakFigure {
  minutes: number;
  /** every minute, from the first call on */
  samples: SoakSample[];
  /** requests that got a 503 */
  failed: number;
  /** accepted and not delivered a minute after the last call: some wait in tiers */
  undelivered: number;
}

interface SoakSample {
  minute: number;
  /** by process: MB */
  rssMb: Record<string, number>;
  /** by process: cores, in the minute before */
  cores: Record<string, number>;
}

/** Everything that an installation runs. */
const EVERYTHING = [...SERVICES, 'broker'];
/**
 * A process starts, compiles its code and fills its caches in the first sixth: ten minutes of an
 * hour.
 */
const BEGIN = 1 / 6;
/**
 * An hour moves a process by so much in both directions, because a garbage collector gives memory
 * back irregularly.
 */
const FLAT = { mb: 10, share: 0.05 };

export function soakRows(soak: SoakFigure): Row[] {
  const later = soak.samples.filter(({ minute }) => minute >= soak.minutes * BEGIN);
  const ofProcess = (name: string) => {
    const mb = later.map(({ rssMb }) => rssMb[name] ?? NaN);
    const perHour = growth(
      later.map(({ minute }) => minute / 60),
      mb,
    );
    return { name, mb, perHour, flat: Math.max(FLAT.mb, FLAT.share * (mb[0] ?? NaN)) };
  };
  const processes = EVERYTHING.map(ofProcess);
  return [
    ...processes.flatMap(({ name, mb, perHour, flat }) =>
      rows(`soak, ${name}`, [
        [', after a sixth of the time', 'MB', mb[0]],
        [', at the end', 'MB', mb.at(-1)],
        [', at most', 'MB', Math.max(...mb), name === 'control' ? 350 : undefined],
        [', growth', 'MB/hour', perHour, flat],
        ['', 'cores', sum(later.map(({ cores }) => cores[name] ?? NaN)) / later.length],
      ]),
    ),
    ...rows('soak', [
      [', all together at the end', 'MB', sum(processes.map(({ mb }) => mb.at(-1) ?? NaN))],
      [', failed attempts', 'requests', soak.failed],
      [', not delivered a minute after the end', 'webhooks', soak.undelivered],
    ]),
  ];
}

/** Returns the slope of least squares; 0 for one point. */
function growth(xs: readonly number[], ys: readonly number[]): number {
  const x = sum(xs) / xs.length;
  const y = sum(ys) / ys.length;
  const spread = sum(xs.map((each) => (each - x) ** 2));
  return spread === 0 ? 0 : sum(xs.map((each, i) => (each - x) * ((ys[i] ?? NaN) - y))) / spread;
}

export async function measureSoak(
  bench: Bench,
  size: SoakSize,
  progress: Progress,
): Promise<SoakFigure> {
  return withSystem(bench, { name: 'soak', services: SERVICES }, async ({ system, pids }) => {
    const { endpoint } = bench;
    const customers = await createCustomers(system, urlsOf(endpoint.origin, size));
    const calls = new Calls(system.ingestUrl, CONNECTIONS, customers, 'soak');
    endpoint.reset({ ids: false });
    const samples = sampleEveryMinute(pids, size.minutes, progress);
    let sampling = true;
    let sent = 0;
    const load = openLoop(
      size.perSecond,
      () => sampling,
      async () => {
        await calls.postSingle();
        sent++;
      },
    );
    const failed = load.then(() => new Promise<never>(() => undefined));
    try {
      const taken = await Promise.race([samples, failed]);
      sampling = false;
      await load;
      const undelivered = async () => {
        const report = await endpoint.report();
        return Math.max(0, sent - (report.count - report.failed));
      };
      await until(async () => (await undelivered()) === 0, POLL_MS, ARRIVAL_MS);
      return {
        minutes: size.minutes,
        samples: taken,
        failed: (await endpoint.report()).failed,
        undelivered: await undelivered(),
      };
    } finally {
      sampling = false;
      await load.catch(() => undefined);
      await calls.close();
    }
  });
}

function urlsOf(origin: string, { endpoints, failsEvery }: SoakSize): string[] {
  return Array.from({ length: endpoints }, (_, i) =>
    i === 0 ? `${origin}/flaky-${String(failsEvery)}/soak` : `${origin}/ok/soak-${String(i)}`,
  );
}

async function sampleEveryMinute(
  pids: Record<string, number>,
  minutes: number,
  progress: Progress,
): Promise<SoakSample[]> {
  const startedAt = clockMs();
  const samples: SoakSample[] = [];
  let before: CpuReading = readCpu(pids);
  for (let minute = 1; minute <= minutes; minute++) {
    await pause(Math.max(0, startedAt + minute * MINUTE_MS - clockMs()));
    const now = readCpu(pids);
    const { byName, seconds } = cpuBetween(before, now);
    before = now;
    const cores = Object.fromEntries(
      Object.entries(byName).map(([name, used]) => [name, used / seconds]),
    );
    const rssMb = residents(pids);
    samples.push({ minute, rssMb, cores });
    const shown = Object.entries(rssMb).map(([name, mb]) => `${name} ${mb.toFixed(0)}`);
    progress.note(`minute ${String(minute)} of ${String(minutes)}, MB: ${shown.join(', ')}`);
  }
  return samples;
}
