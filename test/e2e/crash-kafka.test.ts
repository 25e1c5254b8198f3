import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../deploy/local/paths';
import { eventually } from '../support/eventually';
import { openRig, PER_SECOND, type Rig } from '../support/rig';
import { descendants } from '../support/supervised';

/** Kafka goes away under load, frozen or killed: ingest says so, nothing is lost, and all recovers by itself. */

const OUTAGE_MS = 10_000;
/** After it clients give up by themselves; the promise is half of it. */
const CLIENT_TIMEOUT_MS = 10_000;

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({ embedded: true });
}, 240_000);
afterAll(() => rig.close());

function broker(): number {
  const found = descendants(rig.system.pid).find(({ command }) => command.includes('kafka.Kafka'));
  if (!found) throw new Error('no broker runs');
  return found.pid;
}

const servicePids = () => SERVICES.map((name) => rig.system.pids(name));

/** What the supervisor and the services said of a service that ended: nothing, if all go on. */
function endings(): string[] {
  return rig.system
    .output()
    .split('\n')
    .filter((line) => /"msg":"service\.(failed|ended)"/.test(line));
}

test('frozen for ten seconds: 503 with Retry-After in time, and on it goes', async () => {
  // Given a broker that neither answers nor hangs up; then callers are told to come again, and their calls arrive later.
  const { load } = rig;
  await rig.flowing();
  const before = { services: servicePids(), refused: load.refusals.get(503) ?? 0, repeats: rig.healthy.repeats };
  const java = broker();
  process.kill(java, 'SIGSTOP');
  try {
    // The outage itself: its length is what is given.
    await pause(OUTAGE_MS);
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
}, 240_000);

test('killed: the supervisor brings it back, and on it goes', async () => {
  // Given a broker that is killed; then it is started again under its address, and the services find it.
  const before = { java: broker(), services: servicePids(), repeats: rig.healthy.repeats };
  process.kill(before.java, 'SIGKILL');
  await eventually(() => expect(broker()).not.toBe(before.java), { deadlineMs: 30_000 });
  await rig.flowing();
  process.stdout.write(`killed: ${rig.healthy.repeats - before.repeats} repeats\n`);
  expect(rig.load.withoutRetryAfter).toBe(0);
  expect(endings()).toEqual([]);
  expect(servicePids()).toEqual(before.services);
}, 240_000);

test('every acknowledged call arrived', async () => {
  // Given two outages; then nothing is missing, and each request had an answer, which was 200 or 503.
  await rig.allArrived();
  const { load } = rig;
  process.stdout.write(
    `${load.acknowledged.size} calls acknowledged, 0 lost, ${rig.healthy.repeats} repeats; ` +
      `refusals: ${JSON.stringify([...load.refusals])}\n`,
  );
  expect([...load.refusals.keys()]).toEqual([503]);
  expect(load.acknowledged.size).toBeGreaterThan(PER_SECOND);
}, 240_000);
