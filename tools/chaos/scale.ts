import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Admin, logLevel } from 'kafkajs';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { loadSettings } from '../../shared/runtime/settings';
import { cpuBetween, readCpu } from '../harness/usage';
import { type ServiceName } from '../../bin/service-list';
import { openLoadedSystem, type LoadedSystem } from '../harness/loaded-system';
import { type Service, startBeside } from '../../test/support/service';

/**
 * `node dist/tools/chaos/scale.js [--rate CALLS_PER_SECOND] [--seconds N]`: routers and deliveries
 * start and stop under load, beside a hanging and a failing endpoint. Each phase prints the
 * throughput and the share of each process. At the end no call is missing and none arrived twice.
 */

const PHASES = [
  { router: 1, delivery: 1 },
  { router: 2, delivery: 3 },
  { router: 2, delivery: 2 },
  { router: 1, delivery: 1 },
] as const;
const SCALED = ['router', 'delivery'] as const satisfies ServiceName[];
type Scaled = (typeof SCALED)[number];

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { rate: { type: 'string' }, seconds: { type: 'string' } },
  });
  const [perSecond, seconds] = [Number(values.rate ?? 500), Number(values.seconds ?? 20)];
  if (!(perSecond > 0 && seconds > 0)) {
    throw new Error(
      'Usage: node dist/tools/chaos/scale.js [--rate CALLS_PER_SECOND] [--seconds N]',
    );
  }
  const env = { WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'), WAYPOST_PARTITIONS: '12' };
  const rig = await openLoadedSystem({
    embedded: true,
    perSecond,
    env: { ...env, WAYPOST_TIMEOUT: '5s' },
  });
  const admin = kafkajsClient({
    ...kafkaAddress(loadSettings(rig.system.env)),
    logLevel: logLevel.NOTHING,
  }).admin();
  const crew = new Crew(rig);
  try {
    await admin.connect();
    for (const phase of PHASES) {
      for (const name of SCALED) await crew.become(name, phase[name]);
      await rig.flowing(perSecond);
      say(`${phase.router} router(s), ${phase.delivery} deliveries`);
      for (const line of await watch(rig, crew, admin, seconds)) say(`  ${line}`);
    }
    await rig.allArrived();
    const { healthy, failing, load } = rig;
    const repeats = healthy.repeats + failing.repeats;
    say(`${load.acknowledged.size} calls acknowledged, 0 missing, ${repeats} repeats`);
    return repeats === 0;
  } finally {
    await crew.end();
    await admin.disconnect();
    await rig.close();
  }
}

/** The processes that start and stop beside the system's own. */
class Crew {
  readonly #beside: Record<Scaled, Service[]> = { router: [], delivery: [] };

  constructor(private readonly rig: LoadedSystem) {}

  /** Starts, or gracefully stops, processes until their number is right. */
  async become(name: Scaled, count: number): Promise<void> {
    const crew = this.#beside[name];
    const { system } = this.rig;
    const more = {
      KAFKA_BROKERS: system.brokers,
      WAYPOST_REPLICATION: '1',
      WAYPOST_LOG_LEVEL: 'info',
    };
    while (crew.length < count - 1) crew.push(await startBeside(system, name, more));
    while (crew.length > count - 1) {
      const code = await crew.pop()!.stop();
      if (code !== 0) throw new Error(`a stopped ${name} ended with ${code}`);
    }
  }

  /**
   * Returns each process with a display name and its partitions; the system's own process has the
   * remaining ones.
   */
  processes(name: Scaled): { title: string; pid: number; owns: Set<string> | undefined }[] {
    const own = { title: `${name} 1`, pid: this.rig.system.pids(name)[0] ?? 0, owns: undefined };
    const beside = this.#beside[name].map((service, i) => ({
      title: `${name} ${i + 2}`,
      pid: service.pid,
      owns: assigned(service.output()),
    }));
    return [own, ...beside];
  }

  async end(): Promise<void> {
    await Promise.all(
      SCALED.flatMap((name) => this.#beside[name].map((service) => service.kill())),
    );
  }
}

/**
 * Measures the throughput of each process for this many seconds, by the offsets that the owner of
 * each partition has committed.
 */
async function watch(
  rig: LoadedSystem,
  crew: Crew,
  admin: Admin,
  seconds: number,
): Promise<string[]> {
  const processes = SCALED.flatMap((name) => crew.processes(name));
  const pids = Object.fromEntries(processes.map(({ title, pid }) => [title, pid]));
  const counts = () => ({
    calls: rig.load.acknowledged.size,
    taken: rig.healthy.taken + rig.failing.taken,
  });
  const [before, cpuBefore] = [counts(), readCpu(pids)];
  const offsetsBefore = await Promise.all(SCALED.map((name) => committed(admin, name)));
  await pause(seconds * 1_000);
  const [after, cpu] = [counts(), cpuBetween(cpuBefore, readCpu(pids))];
  const offsetsAfter = await Promise.all(SCALED.map((name) => committed(admin, name)));
  const perSecond = (from: number, to: number) => `${Math.round((to - from) / cpu.seconds)}/s`;
  return [
    `${perSecond(before.calls, after.calls)} calls acknowledged, ` +
      `${perSecond(before.taken, after.taken)} webhooks taken`,
    ...SCALED.flatMap((name, i) => {
      const done = new Map(
        [...offsetsAfter[i]!].map(([place, n]) => [place, n - (offsetsBefore[i]!.get(place) ?? 0)]),
      );
      const all = total(done);
      const members = crew.processes(name);
      const others = new Set(members.flatMap(({ owns }) => [...(owns ?? [])]));
      return members.map(({ title, owns }) => {
        const share = total(
          new Map([...done].filter(([place]) => (owns ? owns.has(place) : !others.has(place)))),
        );
        const records = `${Math.round(share / cpu.seconds)} records/s`.padStart(16);
        const percent = `${((100 * share) / Math.max(1, all)).toFixed(0)} %`.padStart(6);
        return (
          `${title.padEnd(12)}${records}${percent}   ` +
          `${(cpu.byName[title]! / cpu.seconds).toFixed(2)} cores`
        );
      });
    }),
  ];
}

async function committed(admin: Admin, name: Scaled): Promise<Map<string, number>> {
  const topics = await admin.fetchOffsets({ groupId: `waypost-${name}` });
  return new Map(
    topics.flatMap(({ topic, partitions }) =>
      partitions.map(
        ({ partition, offset }) => [`${topic}:${partition}`, Math.max(0, Number(offset))] as const,
      ),
    ),
  );
}

/** Returns the partitions that a process has logged last. */
function assigned(output: string): Set<string> {
  const said = output.split('\n').findLast((line) => line.includes('consumer.assigned'));
  const { assignment = {} } = JSON.parse(said ?? '{}') as { assignment?: Record<string, number[]> };
  return new Set(
    Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => `${topic}:${partition}`),
    ),
  );
}

function total(counts: Map<string, number>): number {
  return [...counts.values()].reduce((sum, n) => sum + n, 0);
}

// A process that a signal ends emits no `exit`, so its children would keep running.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().then(
  (kept) => process.exit(kept ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(
      `scale: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
