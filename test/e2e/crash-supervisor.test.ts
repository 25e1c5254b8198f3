import { SERVICES } from '../../deploy/local/paths';
import { eventually } from '../support/eventually';
import { openRig, PER_SECOND, type Rig } from '../support/rig';
import { descendants, processes } from '../support/supervised';

/** The whole system ends under load, with a Kafka of its own, by kill -9 and by SIGTERM; the next start goes on. */

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({ embedded: true });
}, 240_000);
afterAll(() => rig.close());

/** All that runs for the system, the broker and its watcher too. */
function family(): number[] {
  return [rig.system.pid, ...descendants(rig.system.pid).map(({ pid }) => pid)];
}

function alive(pids: number[]): string[] {
  return processes()
    .filter(({ pid, command }) => pids.includes(pid) && !command.includes('<defunct>'))
    .map(({ pid, command }) => `${pid} ${command.slice(0, 80)}`);
}

test('kill -9 of the supervisor: nothing outlives it, and the next start has everything', async () => {
  // Given a system at work; then its end takes every process with it, and a start on the same data goes on.
  await rig.flowing();
  const pids = family();
  const before = rig.healthy.repeats;
  expect(pids.length).toBeGreaterThanOrEqual(SERVICES.length + 2);
  process.kill(rig.system.pid, 'SIGKILL');
  await eventually(() => expect(alive(pids)).toEqual([]), { deadlineMs: 30_000 });

  await rig.restart();
  await rig.caughtUp();
  process.stdout.write(`kill -9 of the supervisor: ${rig.healthy.repeats - before} repeats\n`);
}, 240_000);

test('SIGTERM under load: what was acknowledged arrives, now or after the next start', async () => {
  // Given a system that is told to stop while calls come in; then it ends by itself with 0, and loses nothing.
  const pids = family();
  const before = rig.healthy.repeats;
  expect(await rig.system.stop()).toBe(0);
  expect(alive(pids)).toEqual([]);
  await rig.restart();
  await rig.caughtUp();
  process.stdout.write(`SIGTERM: ${rig.healthy.repeats - before} repeats\n`);
}, 240_000);

test('every acknowledged call arrived', async () => {
  // Given a kill and a stop of everything; then nothing is missing, at the endpoint that fails sometimes neither.
  await rig.allArrived();
  const { load } = rig;
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost, ${rig.healthy.repeats} repeats; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
}, 240_000);
