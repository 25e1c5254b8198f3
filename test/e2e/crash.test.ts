import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '../../bin/service-list';
import { compact } from '../../shared/collections/defined';
import { eventually } from '../support/eventually';
import { openLoadedSystem, PER_SECOND, type LoadedSystem } from '../../tools/harness/loaded-system';
import { isAlive, type ProcessId, processId } from '../../shared/runtime/process-id';
import { healthPortOf } from '../support/service';
import { descendantIds, descendants } from '../support/supervised';
import { TraitOracle } from '../support/trait-oracle';

/**
 * One system with an embedded Kafka, under constant load, with one endpoint that hangs. The tests
 * freeze and kill Kafka, kill the services three at a time, and restart the whole system. No
 * acknowledged call is lost, and the values of a computed trait never decrease and are correct in
 * the end.
 */

const OUTAGE_MS = 10_000;
/** Clients give up after this time; ingest promises an answer in half of it. */
const CLIENT_TIMEOUT_MS = 10_000;
/** Calls of at least a second, which may arrive between the look at the commits and the kill. */
const slack = (ms: number) => PER_SECOND * Math.max(1, ms / 1_000);

let rig: LoadedSystem;
const orders = new TraitOracle();
beforeAll(async () => {
  rig = await openLoadedSystem({ embedded: true, orders });
}, 500_000);
afterAll(() => rig.close());

function broker(): number {
  // A watcher process has the command line of the broker too.
  const found = descendants(rig.system.pid).find(
    ({ command }) => command.includes('kafka.Kafka') && !command.includes('waypost-watch'),
  );
  if (!found) throw new Error('no broker runs');
  return found.pid;
}

const servicePids = () => SERVICES.map((name) => rig.system.pids(name));

function liveness(): Promise<number[]> {
  const port = (name: ServiceName) => healthPortOf(rig.system.env, name);
  return Promise.all(
    SERVICES.map(async (name) => (await fetch(`http://127.0.0.1:${port(name)}/livez`)).status),
  );
}

/** Returns the log lines about services that ended; none if all services still run. */
function endings(): string[] {
  return rig.system
    .output()
    .split('\n')
    .filter((line) => /"msg":"service\.(failed|ended)"/.test(line));
}

/** Returns every process of the system, including the broker and its watcher. */
function family(): ProcessId[] {
  const own = processId(rig.system.pid);
  return compact([own, ...descendantIds(rig.system.pid)]);
}

/** Returns the processes of the family that still run. */
function alive(family: ProcessId[]): ProcessId[] {
  return family.filter(isAlive);
}

test('while Kafka is frozen for ten seconds ingest answers 503 with Retry-After', async () => {
  // A frozen broker neither answers nor closes connections. Callers are asked to retry, and their
  // calls arrive later.
  const { load } = rig;
  await rig.flowing();
  const before = {
    services: servicePids(),
    refused: load.refusals.get(503) ?? 0,
    repeats: rig.healthy.repeats,
  };
  const java = broker();
  process.kill(java, 'SIGSTOP');
  try {
    // The outage itself, not a wait for a result.
    await pause(OUTAGE_MS);
    // A missing broker does not justify a restart of a service.
    expect(await liveness()).toEqual(SERVICES.map(() => 200));
  } finally {
    process.kill(java, 'SIGCONT');
  }
  await rig.flowing();
  process.stdout.write(
    `frozen: ${(load.refusals.get(503) ?? 0) - before.refused} answers 503, slowest answer ` +
      `${load.slowestAnswerMs} ms, ` +
      `${rig.healthy.repeats - before.repeats} repeats\n`,
  );
  expect(load.refusals.get(503) ?? 0).toBeGreaterThan(before.refused);
  expect(load.withoutRetryAfter).toBe(0);
  expect(load.slowestAnswerMs).toBeLessThan(CLIENT_TIMEOUT_MS);
  expect(broker()).toBe(java);
  expect(endings()).toEqual([]);
  expect(servicePids()).toEqual(before.services);
}, 500_000);

test('the supervisor restarts a killed Kafka, and work resumes', async () => {
  // The broker returns at its address, the services find it, and every request was answered with
  // 200 or 503.
  const { load, healthy } = rig;
  const before = { java: broker(), services: servicePids(), repeats: healthy.repeats };
  process.kill(before.java, 'SIGKILL');
  await eventually(() => expect(broker()).not.toBe(before.java), { deadlineMs: 60_000 });
  await rig.caughtUp();
  await rig.flowing();
  process.stdout.write(`Kafka killed: ${healthy.repeats - before.repeats} repeats\n`);
  expect(load.withoutRetryAfter).toBe(0);
  expect([...load.refusals.keys()]).toEqual([503]);
  expect(endings()).toEqual([]);
  expect(servicePids()).toEqual(before.services);
}, 500_000);

/** Three at a time, which is harder than one and takes a third as long. */
const GROUPS: ServiceName[][] = [
  ['ingest', 'router', 'audiences'],
  ['delivery', 'retry', 'control'],
];

test.each(GROUPS.map((names) => ({ names })))(
  '$names restart when killed, acknowledged calls arrive, and only uncommitted records repeat',
  async ({ names }) => {
    await rig.flowing();
    const { healthy } = rig;
    const pids = names.map((name) => rig.system.pids(name));
    const repeatsBefore = healthy.repeats;
    const lookedAt = performance.now();
    const uncommitted = await Promise.all(names.map((name) => rig.uncommitted(name)));
    for (const pid of pids.flat()) process.kill(pid, 'SIGKILL');
    const lookMs = performance.now() - lookedAt;
    await Promise.all(names.map((name, i) => rig.replaced(name, pids[i]!)));
    await rig.caughtUp();
    const repeats = healthy.repeats - repeatsBefore;
    process.stdout.write(
      `${names.join(', ')} killed: ${repeats} repeats, ${uncommitted.join(', ')} ` +
        `records were not committed\n`,
    );
    const most = uncommitted.reduce((sum, count) => sum + count, 0);
    expect(repeats).toBeLessThanOrEqual(most + slack(lookMs));
  },
  400_000,
);

test('the kill tests cover every service', () => {
  expect(GROUPS.flat().sort()).toEqual([...SERVICES].sort());
});

test('no process outlives SIGKILL of a supervisor, and the next start has its data', async () => {
  await rig.flowing();
  const all = family();
  const before = rig.healthy.repeats;
  expect(all.length).toBeGreaterThanOrEqual(SERVICES.length + 2);
  process.kill(rig.system.pid, 'SIGKILL');
  await eventually(() => expect(alive(all)).toEqual([]), { deadlineMs: 60_000 });

  await rig.restart();
  await rig.caughtUp();
  process.stdout.write(`kill -9 of the supervisor: ${rig.healthy.repeats - before} repeats\n`);
}, 500_000);

test('acknowledged calls arrive after SIGTERM under load, or after the next start', async () => {
  // The system exits with 0 by itself.
  const all = family();
  const before = rig.healthy.repeats;
  expect(await rig.system.stop()).toBe(0);
  // The watcher of the broker outlives it by a moment.
  await eventually(() => expect(alive(all)).toEqual([]));
  await rig.restart();
  await rig.caughtUp();
  process.stdout.write(`SIGTERM: ${rig.healthy.repeats - before} repeats\n`);
}, 500_000);

test('after all faults every acknowledged call has arrived at both endpoints', async () => {
  // One of the two endpoints fails sometimes.
  await rig.allArrived();
  const { load, healthy } = rig;
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost, ${healthy.repeats} repeats; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
}, 500_000);

test('after all faults the receiver has the correct traits and got no value twice', async () => {
  await eventually(() => orders.expectRight(), { deadlineMs: 120_000, everyMs: 500 });
});
