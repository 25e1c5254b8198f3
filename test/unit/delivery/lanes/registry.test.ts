import { type Job } from '../../../../services/delivery/lanes/job';
import { LaneRegistry } from '../../../../services/delivery/lanes/registry';
import { laneOptions } from '../../../../services/delivery/tuning';
import { type Endpoint } from '../../../../services/delivery/destinations/endpoint';
import { defined } from '../../../../shared/collections/defined';
import { anEndpoint } from '../../../support/factories';

const TIERS = [10_000, 60_000];
const WAITING = 1_500;

/** Creates the lanes of a process with a busy event loop, and a settable clock. */
function setUp() {
  const clock = {
    at: 0,
    saturated: true,
    usesWholeCore: true,
    stalledMs: 0,
    now: () => clock.at,
    run: () => () => undefined,
  };
  const ticks = new Set<() => void>();
  const time = {
    wallMs: () => clock.at,
    agreedMs: () => clock.at,
    brokersMs: () => clock.at,
    steadyMs: () => clock.at,
    busyMs: () => clock.at,
    cpuMs: () => clock.at,
    every: (_: number, act: () => void) => {
      ticks.add(act);
      return () => void ticks.delete(act);
    },
    after: () => () => undefined,
  };
  const lanes = new LaneRegistry({
    lane: laneOptions(TIERS),
    pool: { total: 10_000, reserve: 0 },
    keepMs: 600_000,
    clock,
    time,
    rateShare: () => 1,
    onCircuit: () => undefined,
    onDropped: () => undefined,
  });
  const started: Job[] = [];
  const offer = (endpoint: Endpoint, count: number) => {
    for (let i = 0; i < count; i++) {
      const job: Job = {
        record: { isRevoking: false },
        bytes: 10,
        due: false,
        start: () => started.push(job),
        carries: () => false,
        refuse: () => undefined,
      };
      if (lanes.of(endpoint).offer(job, clock.at) === 'placed') job.start();
    }
  };
  const tick = () => {
    for (const act of [...ticks]) act();
  };
  return { lanes, clock, started, offer, tick, ticks };
}

function endpoint(lane: string, maxPerSecond?: number): Endpoint {
  return anEndpoint({ lane, hash: lane, shards: 1, ...defined({ maxPerSecond }) });
}

test('no timer ticks but while a lane has a job', () => {
  const { lanes, clock, started, offer, tick, ticks } = setUp();
  const [only] = ticks;
  offer(endpoint('quick'), 1);
  tick();
  const busy = ticks.size;
  lanes.of(endpoint('quick')).freePlace(started[0]!, clock.at, { kind: 'ok' });
  tick();
  expect([busy, [...ticks]]).toEqual([2, [only]]);
  offer(endpoint('quick'), 1);
  expect(ticks.size).toBe(2);
});

describe('the overload of a busy process', () => {
  test('enough jobs for endpoints that answer quickly overload it', () => {
    const { lanes, clock, offer } = setUp();
    offer(endpoint('quick'), WAITING);
    expect(lanes.overloaded).toBe(true);
    clock.saturated = false;
    expect(lanes.overloaded).toBe(false);
  });

  test('jobs for silent endpoints do not overload it, since they would hold up all others', () => {
    const { lanes, clock, offer, tick } = setUp();
    for (let i = 0; i < 50; i++) offer(endpoint(`hung${String(i)}`), WAITING / 50 + 20);
    clock.at = 600;
    tick();
    expect(lanes.census().queued).toBe(WAITING);
    expect(lanes.overloaded).toBe(false);
  });

  test('jobs that open circuits refuse with each tick do not overload it', () => {
    const { lanes, clock, started, offer } = setUp();
    const hung = Array.from({ length: 50 }, (_, i) => endpoint(`hung${String(i)}`));
    for (const each of hung) offer(each, WAITING / 50 + 40);
    clock.at = 5_000;
    for (const [i, job] of started.splice(0).entries()) {
      lanes.of(hung[Math.floor(i / 20)]!).freePlace(job, clock.at, { kind: 'timeout' });
    }
    const { circuits, queued } = lanes.census();
    expect(circuits.open).toBe(50);
    expect(queued).toBeGreaterThan(WAITING);
    expect(lanes.overloaded).toBe(false);
  });

  test('jobs that wait for slow endpoints or for a rate do not overload it', () => {
    const { lanes, clock, started, offer, tick } = setUp();
    const slow = Array.from({ length: 100 }, (_, i) => endpoint(`slow${String(i)}`));
    for (const each of slow) offer(each, 1);
    clock.at = 4_000;
    for (const [i, job] of started.splice(0).entries()) {
      lanes.of(slow[i]!).freePlace(job, clock.at, { kind: 'ok' });
    }
    for (const each of slow) offer(each, 30);
    offer(endpoint('paced', 200), WAITING);
    tick();
    expect(lanes.census().queued).toBeGreaterThan(WAITING);
    expect(lanes.overloaded).toBe(false);
  });
});
