import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '../../deploy/standalone/service-list';
import { eventually } from '../support/eventually';
import { openLoadedSystem, PER_SECOND, type LoadedSystem } from '../../tools/harness/loaded-system';
import { isAlive, type ProcessId, processId } from '../../shared/service/process-id';
import { descendantIds, descendants } from '../support/supervised';
import { TraitOracle } from '../support/trait-oracle';

/**
 * One system with a Kafka of its own, under load from the beginning to the end, one endpoint hanging: Kafka is frozen and
 * killed, then the services are killed, two at a time, then all of it ends and starts anew. Nothing that was acknowledged is
 * lost, and what a computed trait tells of it meanwhile is right in the end and never less than before.
 */

const OUTAGE_MS = 10_000;
/** After it clients give up by themselves; the promise is half of it. */
const CLIENT_TIMEOUT_MS = 10_000;
/** Load of at least a second, for what comes between the look at the commits and the kill. */
const slack = (ms: number) => PER_SECOND * Math.max(1, ms / 1_000);

let rig: LoadedSystem;
const orders = new TraitOracle();
beforeAll(async () => {
  rig = await openLoadedSystem({ embedded: true, orders });
}, 500_000);
afterAll(() => rig.close(), 120_000);

function broker(): number {
  // Until its shell has become the program, a watcher bears the broker's command line too.
  const found = descendants(rig.system.pid).find(
    ({ command }) => command.includes('kafka.Kafka') && !command.includes('waypost-watch'),
  );
  if (!found) throw new Error('no broker runs');
  return found.pid;
}

const servicePids = () => SERVICES.map((name) => rig.system.pids(name));

function liveness(): Promise<number[]> {
  const port = (name: ServiceName) => rig.system.env[`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]!;
  return Promise.all(SERVICES.map(async (name) => (await fetch(`http://127.0.0.1:${port(name)}/livez`)).status));
}

/** What the supervisor and the services said of a service that ended: nothing, if all go on. */
function endings(): string[] {
  return rig.system
    .output()
    .split('\n')
    .filter((line) => /"msg":"service\.(failed|ended)"/.test(line));
}

/** All that runs for the system, the broker and its watcher too. */
function family(): ProcessId[] {
  const own = processId(rig.system.pid);
  return [...(own ? [own] : []), ...descendantIds(rig.system.pid)];
}

/** Those of the family that still run. */
function alive(family: ProcessId[]): ProcessId[] {
  return family.filter(isAlive);
}

test('Kafka is frozen for ten seconds: 503 with Retry-After in time, and on it goes', async () => {
  // Given a broker that neither answers nor hangs up; then callers are told to come again, and their calls arrive later.
  const { load } = rig;
  await rig.flowing();
  const before = { services: servicePids(), refused: load.refusals.get(503) ?? 0, repeats: rig.healthy.repeats };
  const java = broker();
  process.kill(java, 'SIGSTOP');
  try {
    // The outage itself: its length is what is given.
    await pause(OUTAGE_MS);
    // A broker that is away is no reason to restart anybody.
    expect(await liveness()).toEqual(SERVICES.map(() => 200));
  } finally {
    process.kill(java, 'SIGCONT');
  }
  await rig.flowing();
  process.stdout.write(
    `frozen: ${(load.refusals.get(503) ?? 0) - before.refused} answers 503, slowest answer ${load.slowestAnswerMs} ms, ` +
      `${rig.healthy.repeats - before.repeats} repeats\n`,
  );
  expect(load.refusals.get(503) ?? 0).toBeGreaterThan(before.refused);
  expect(load.withoutRetryAfter).toBe(0);
  expect(load.slowestAnswerMs).toBeLessThan(CLIENT_TIMEOUT_MS);
  expect(broker()).toBe(java);
  expect(endings()).toEqual([]);
  expect(servicePids()).toEqual(before.services);
}, 500_000);

test('Kafka is killed: the supervisor brings it back, and on it goes', async () => {
  // Given a broker that is killed; then it is started again under its address, the services find it, and each request had
  // an answer, which was 200 or 503.
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

/** Two at a time, which is worse than one, and takes half as long. */
const PAIRS: [ServiceName, ServiceName][] = [
  ['ingest', 'audiences'],
  ['router', 'control'],
  ['delivery', 'retry'],
];

test.each(PAIRS)(
  '%s and %s are killed, come back, and work goes on',
  async (...names) => {
    // Given calls that flow; then killed services are replaced, what was acknowledged arrives, and no more is repeated
    // than what they had not committed.
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
      `${names.join(' and ')} killed: ${repeats} repeats, ${uncommitted.join(' and ')} records were not committed\n`,
    );
    expect(repeats).toBeLessThanOrEqual(uncommitted[0]! + uncommitted[1]! + slack(lookMs));
  },
  400_000,
);

test('every service is one of those that are killed', () => {
  expect(PAIRS.flat().sort()).toEqual([...SERVICES].sort());
});

test('kill -9 of the supervisor: nothing outlives it, and the next start has everything', async () => {
  // Given a system at work; then its end takes every process with it, and a start on the same data goes on.
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

test('SIGTERM under load: what was acknowledged arrives, now or after the next start', async () => {
  // Given a system that is told to stop while calls come in; then it ends by itself with 0, and loses nothing.
  const all = family();
  const before = rig.healthy.repeats;
  expect(await rig.system.stop()).toBe(0);
  // The watcher of the broker outlives it by a moment.
  await eventually(() => expect(alive(all)).toEqual([]), { deadlineMs: 5_000 });
  await rig.restart();
  await rig.caughtUp();
  process.stdout.write(`SIGTERM: ${rig.healthy.repeats - before} repeats\n`);
}, 500_000);

test('every acknowledged call arrived', async () => {
  // Given all of that; then nothing is missing, at the endpoint that fails sometimes neither.
  await rig.allArrived();
  const { load, healthy } = rig;
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost, ${healthy.repeats} repeats; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
}, 500_000);

test('a computed trait was told right through all of it', async () => {
  // Given all of that; then the receiver knows of each user what arrived, and was never told a second time what it knew.
  await eventually(() => orders.expectRight(), { deadlineMs: 120_000, everyMs: 500 });
}, 200_000);
