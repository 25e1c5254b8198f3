import fc from 'fast-check';
import {
  type Job,
  type Offer,
  type Refusal,
  type Signal,
} from '../../../../services/delivery/lanes/job';
import { Lane } from '../../../../services/delivery/lanes/lane';
import {
  type LaneContext,
  type LaneOptions,
} from '../../../../services/delivery/lanes/lane-context';
import { SocketShares } from '../../../../services/delivery/lanes/socket-shares';
import { park, parkTiers } from '../../../../shared/model/schedule';
import { cases } from '../../../support/cases';

const OPTIONS: LaneOptions = {
  floor: 1,
  start: 4,
  ceiling: 8,
  circuit: {
    failuresToOpen: 5,
    silentToOpen: 3,
    probePauseMs: 1_000,
    longestPauseMs: 10_000,
    longestHoldMs: 900_000,
    recoveredAt: 4,
  },
  maxWaitMs: 1_000,
  maxQueuedBytes: 100_000,
};
const TIERS = [10_000, 60_000, 300_000, 900_000, 1_800_000];
const OK: Signal = { kind: 'ok' };
const FAILED: Signal = { kind: 'failed' };
const TIMEOUT: Signal = { kind: 'timeout' };

const STAYS = { isRevoking: false };

interface Given extends Job {
  name: string;
}

/** Creates lanes that share sockets, and records the fate of their jobs. */
function setUp(options: Partial<LaneOptions> = {}, total = 1_000) {
  const around: LaneContext = {
    sockets: new SocketShares({ total, reserve: 0 }),
    queued: { count: 0, bytes: 0 },
    clock: { usesWholeCore: false, stalledMs: 0 },
    shedBudget: { left: 1_000 },
    timed: new Set(),
  };
  const changes: string[] = [];
  const newLane = () =>
    new Lane({ ...OPTIONS, ...options }, around, (change, why) =>
      changes.push(`${change}: ${why}`),
    );
  const started: Given[] = [];
  const refused: { name: string; refusal: Refusal | undefined }[] = [];
  const job = (
    name: string,
    over: Partial<Pick<Job, 'due' | 'bytes' | 'urgent' | 'insists' | 'isLast' | 'record'>> = {},
  ): Given => {
    const made: Given = {
      name,
      record: STAYS,
      bytes: 10,
      due: false,
      ...over,
      start: () => started.push(made),
      carries: () => false,
      refuse: (refusal) => refused.push({ name, refusal }),
    };
    return made;
  };
  const names = () => started.map(({ name }) => name);
  return { lane: newLane(), newLane, around, changes, started, names, refused, job };
}

/** Offers a job, and starts it if it need not wait, as every caller of a lane does. */
function offerTo(lane: Lane, job: Job, now: number): Offer {
  const offer = lane.offer(job, now);
  if (offer === 'placed') job.start();
  return offer;
}

/** Opens the lane's circuit at the given time. */
function fail(lane: Lane, job: (name: string) => Given, now: number): void {
  for (let i = 0; i < 5; i++) {
    const failing = job(`failing${String(i)}`);
    offerTo(lane, failing, now);
    lane.freePlace(failing, now, FAILED);
  }
}

describe('a lane', () => {
  test('clearing a lane refuses the queued jobs of revoked records, and no others', () => {
    const { lane, around, names, refused, job } = setUp();
    const isRevoking = { isRevoking: false };
    for (const name of ['a', 'b', 'c', 'd']) offerTo(lane, job(name, { record: isRevoking }), 0);
    const stays = job('stays');
    for (const given of [
      job('e', { record: isRevoking }),
      stays,
      job('f', { record: isRevoking, due: true }),
    ]) {
      expect(offerTo(lane, given, 0)).toBe('queued');
    }
    isRevoking.isRevoking = true;
    lane.clear();
    expect(refused).toEqual([
      { name: 'e', refusal: undefined },
      { name: 'f', refusal: undefined },
    ]);
    expect([lane.active, lane.queued, around.queued]).toEqual([4, 1, { count: 1, bytes: 10 }]);
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
  });

  describe('while a probe is out, a job that a user sends now', () => {
    const probing = () => {
      const given = setUp();
      fail(given.lane, given.job, 0);
      const probe = given.job('probe');
      expect(offerTo(given.lane, probe, 1_000)).toBe('placed');
      return { ...given, probe, asked: given.job('asked', { insists: 'always', due: true }) };
    };

    test('is the next request, however the probe ends', () => {
      for (const signal of [TIMEOUT, FAILED, OK]) {
        const { lane, names, refused, probe, asked } = probing();
        expect(offerTo(lane, asked, 1_500)).toBe('queued');
        expect(names().at(-1)).toBe('probe');
        lane.freePlace(probe, 6_000, signal);
        expect([names().at(-1), refused]).toEqual(['asked', []]);
      }
    });

    test('is refused if another one is asked for already, or if its record is revoked', () => {
      const { lane, names, refused, probe, asked, job } = probing();
      offerTo(lane, asked, 1_500);
      expect(offerTo(lane, job('second', { insists: 'always' }), 1_600)).toMatchObject({
        reason: 'circuit_open',
      });
      expect(lane.remove(asked)).toBe(true);
      lane.freePlace(probe, 6_000, FAILED);
      expect([names().at(-1), refused]).toEqual(['probe', []]);

      const record = { isRevoking: false };
      const again = probing();
      offerTo(again.lane, again.job('revoked', { insists: 'always', record }), 1_500);
      record.isRevoking = true;
      again.lane.clear();
      expect(again.refused).toEqual([{ name: 'revoked', refusal: undefined }]);
    });
  });

  test('a lane starts jobs up to its limit, and queues those that it can drain in time', () => {
    const { lane, names, job } = setUp({ ceiling: 4 });
    const jobs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => job(name));
    expect(jobs.map((j) => offerTo(lane, j, 0))).toEqual([
      'placed',
      'placed',
      'placed',
      'placed',
      'queued',
      'queued',
    ]);
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
    lane.freePlace(jobs[1]!, 10, OK);
    expect(names()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect([lane.active, lane.queued]).toEqual([4, 1]);
  });

  test('a burst for a healthy endpoint is queued, however large', () => {
    const { lane, job } = setUp({ maxQueuedBytes: 1e9, start: 20, ceiling: 64, maxWaitMs: 10_000 });
    const offers = Array.from({ length: 4_000 }, (_, i) => offerTo(lane, job(String(i)), 0));
    expect(offers.filter((offer) => typeof offer === 'object')).toEqual([]);
  });

  test("the age of the oldest request fills a hung endpoint's lane before any timeout", () => {
    const { lane, job } = setUp({ ceiling: 4 });
    for (const name of ['a', 'b', 'c', 'd']) offerTo(lane, job(name), 0);
    expect(offerTo(lane, job('e'), 100)).toBe('queued');
    // Four places, each held for 3 s so far: two more jobs would wait (2 / 4) x 3 s.
    expect(offerTo(lane, job('f'), 3_000)).toEqual({ reason: 'lane_full', waitMs: 1_500 });
  });

  test('a lane takes no more memory than it leaves free, and retries take half of that', () => {
    const { lane, newLane, job } = setUp({ start: 1, maxQueuedBytes: 100 });
    offerTo(lane, job('a'), 0);
    expect(offerTo(lane, job('b', { bytes: 40, due: true }), 0)).toBe('queued');
    expect(offerTo(lane, job('c', { bytes: 20, due: true }), 0)).toMatchObject({
      reason: 'lane_full',
    });
    expect(offerTo(lane, job('d', { bytes: 20 }), 0)).toBe('queued');
    expect(offerTo(lane, job('e', { bytes: 20 }), 0)).toMatchObject({ reason: 'lane_full' });
    const other = newLane();
    offerTo(other, job('f'), 0);
    expect(offerTo(other, job('g', { bytes: 40 }), 0)).toBe('queued');
  });

  test('first attempts start first, and due retries still get every fourth place', () => {
    const { lane, started, names, job } = setUp({ start: 1, maxWaitMs: 1e9, ceiling: 1 });
    offerTo(lane, job('running'), 0);
    for (let i = 0; i < 8; i++) {
      offerTo(lane, job('due', { due: true }), 0);
      offerTo(lane, job('fresh'), 0);
    }
    for (let i = 0; i < 16; i++) lane.freePlace(started.at(-1)!, 1 + i, OK);
    expect(names().slice(1, 9)).toEqual([
      'fresh',
      'fresh',
      'fresh',
      'due',
      'fresh',
      'fresh',
      'fresh',
      'due',
    ]);
    expect(started).toHaveLength(17);
  });

  test('a backlog of retries does not divert a first attempt', () => {
    const { lane, job } = setUp({ start: 1, ceiling: 1, maxWaitMs: 1_000, maxQueuedBytes: 1e9 });
    offerTo(lane, job('running'), 0);
    while (offerTo(lane, job('due', { due: true }), 0) === 'queued');
    expect(offerTo(lane, job('fresh'), 0)).toBe('queued');
  });

  test('a job that is removed from the queue is never started', () => {
    const { lane, names, around, job } = setUp({ start: 1 });
    const [a, b] = [job('a'), job('b')];
    offerTo(lane, a, 0);
    offerTo(lane, b, 0);
    expect(lane.remove(b)).toBe(true);
    expect(lane.remove(a)).toBe(false);
    lane.freePlace(a, 1, OK);
    expect(names()).toEqual(['a']);
    expect([lane.active, lane.queued, around.queued, around.sockets.used]).toEqual([
      0,
      0,
      { count: 0, bytes: 0 },
      0,
    ]);
  });

  test('a silent endpoint gets just enough requests to detect it, then all on a response', () => {
    const { lane, started, job } = setUp({ start: 20, ceiling: 64, maxWaitMs: 60_000 });
    for (let i = 0; i < 2; i++) offerTo(lane, job('first'), 0);
    for (let i = 0; i < 20; i++) offerTo(lane, job('later'), 600);
    // Two open requests are silent for longer than usual: one more may start, so that three are
    // open.
    expect([lane.active, lane.queued]).toEqual([3, 19]);
    lane.tick(4_000);
    expect(lane.active).toBe(3);
    lane.freePlace(started[2]!, 4_100, OK);
    expect([lane.active, lane.queued]).toEqual([20, 1]);
  });

  test('each timeout in silence takes a place away, and the last one opens the circuit', () => {
    const { lane, started, refused, job, changes } = setUp({
      start: 20,
      ceiling: 64,
      maxWaitMs: 60_000,
    });
    for (let i = 0; i < 3; i++) offerTo(lane, job('open'), 0);
    for (let i = 0; i < 20; i++) offerTo(lane, job('later'), 600);
    for (const hung of started.slice(0, 3)) {
      expect([started.length, changes.length]).toEqual([3, 0]);
      lane.freePlace(hung, 5_000, TIMEOUT);
    }
    expect([changes, refused.length, lane.active]).toEqual([['opened: timeout'], 20, 0]);
  });

  test('all queued jobs are refused when the circuit opens', () => {
    const { lane, job, refused, changes } = setUp();
    const open = Array.from({ length: 4 }, (_, i) => job(`open${String(i)}`));
    for (const j of open) offerTo(lane, j, 0);
    for (const name of ['x', 'y', 'z']) offerTo(lane, job(name, { due: name === 'y' }), 0);
    for (let i = 0; i < 4; i++) lane.freePlace(open[i]!, 1, FAILED);
    expect(refused).toEqual([]);
    fail(lane, job, 2);
    expect(lane.queued).toBe(0);
    expect(changes).toEqual(['opened: failed']);
    expect(
      refused.every(({ refusal }) => refusal!.reason === 'circuit_open' && refusal!.waitMs === 0),
    ).toBe(true);
    expect(offerTo(lane, job('later'), 502)).toMatchObject({
      reason: 'circuit_open',
      waitMs: expect.any(Number),
    });
  });

  test('an open circuit refuses some queued jobs per tick, until the endpoint recovers', () => {
    const { lane, started, job, refused, around, names } = setUp({
      start: 4,
      ceiling: 4,
      maxWaitMs: 60_000,
    });
    for (let i = 0; i < 24; i++) offerTo(lane, job('waits'), 0);
    around.shedBudget.left = 0;
    for (let i = 0; i < 5; i++) lane.freePlace(started[i]!, 1, FAILED);
    const waiting = lane.queued;
    expect([waiting > 14, refused.length, around.timed.has(lane)]).toEqual([true, 0, true]);
    for (const gone of [7, 14]) {
      around.shedBudget.left = 7;
      lane.tick(20);
      expect([lane.queued, refused.length]).toEqual([waiting - gone, gone]);
    }
    expect(refused.every(({ refusal }) => refusal!.reason === 'circuit_open')).toBe(true);
    around.shedBudget.left = 0;
    for (const late of started.slice(5)) lane.freePlace(late, 30, FAILED);
    const begun = started.length;
    expect(offerTo(lane, job('retry', { due: true }), 2_000)).toMatchObject({
      reason: 'circuit_open',
    });
    expect(started).toHaveLength(begun);
    lane.tick(2_000);
    // The first queued job is the probe. Nothing else starts before its result, and then the next
    // job does.
    expect(names().slice(begun)).toEqual(['waits']);
    lane.freePlace(started.at(-1)!, 2_010, OK);
    expect([names().slice(begun), refused.length]).toEqual([['waits', 'waits'], 14]);
  });

  test('a hung endpoint costs open requests, then single probes, and then gets 1, 2, 3 …', () => {
    const { lane, started, job, changes } = setUp({
      start: 20,
      ceiling: 64,
      maxWaitMs: 10_000,
      circuit: { ...OPTIONS.circuit, recoveredAt: 20 },
    });
    let now = 0;
    for (let i = 0; i < 500; i++) offerTo(lane, job(String(i)), now);
    expect(started).toHaveLength(20);
    now = 5_000;
    for (const hung of started.slice(0, 20)) lane.freePlace(hung, now, TIMEOUT);
    expect(lane.active).toBeLessThanOrEqual(4);
    for (const hung of started.slice(20)) lane.freePlace(hung, now + 5_000, TIMEOUT);
    const before = started.length;
    for (now = 10_000; now < 22_000; now += 10) {
      offerTo(lane, job('fresh'), now);
      for (const probe of started.slice(before)) {
        if (now % 6_000 === 5_000) lane.freePlace(probe, now, TIMEOUT);
      }
      expect(lane.active).toBeLessThanOrEqual(1);
    }
    expect(started.length - before).toBeLessThanOrEqual(3);
    lane.freePlace(started.at(-1)!, now, OK);
    expect(changes).toEqual(['opened: timeout', 'responded: ok']);
    const widths: number[] = [];
    for (let i = 0; i < 6; i++) {
      while (offerTo(lane, job('back', { due: true }), now) === 'placed');
      widths.push(lane.active);
      for (const j of started.slice(-lane.active)) lane.freePlace(j, now, OK);
      now += 10;
    }
    expect(widths.slice(0, 2)).toEqual([1, 2]);
    expect(Math.max(...widths)).toBeLessThanOrEqual(lane.limit);
  });

  test.each<[string, Signal, number]>([
    ['a wide lane whose circuit opened by failures recovers slowly', FAILED, 4],
    [
      'a wide lane whose circuit opened by timeouts recovers normally, since the timeouts ' +
        'narrowed it',
      TIMEOUT,
      8,
    ],
  ])('%s', (_, signal, widthThen) => {
    const { lane, started, job } = setUp({
      start: 2,
      circuit: { ...OPTIONS.circuit, recoveredAt: 2 },
    });
    let now = 0;
    const endAll = (how: Signal) => {
      for (const each of started.splice(0)) lane.freePlace(each, now, how);
    };
    /** Queues more jobs than there are places, and ends all open ones together. */
    const round = (how: Signal) => {
      while (lane.queued < 20 && typeof offerTo(lane, job('x'), now) === 'string');
      now += 10;
      endAll(how);
    };
    for (let i = 0; i < 4; i++) round(OK);
    expect(lane.limit).toBe(8);
    while (lane.circuit.state !== 'open') round(signal);
    endAll(signal);
    now += 10_000;
    for (let i = 0; i < 30; i++) round(OK);
    expect(lane.limit).toBe(widthThen);
  });

  test('Retry-After holds the whole lane, and refuses jobs that cannot wait that long', () => {
    const { lane, job, names, refused, around } = setUp({ start: 1 });
    const [a, b] = [job('a'), job('b')];
    offerTo(lane, a, 0);
    offerTo(lane, b, 0);
    lane.freePlace(a, 10, { kind: 'throttled', retryAfterMs: 500 });
    expect(names()).toEqual(['a']);
    expect(around.timed.has(lane)).toBe(true);
    lane.tick(500);
    expect(names()).toEqual(['a']);
    lane.tick(510);
    expect(names()).toEqual(['a', 'b']);
    offerTo(lane, job('c'), 520);
    lane.freePlace(b, 520, { kind: 'throttled', retryAfterMs: 60_000 });
    expect(refused).toMatchObject([
      { name: 'c', refusal: { reason: 'retry_after', waitMs: 60_000 } },
    ]);
    expect(offerTo(lane, job('d'), 1_520)).toMatchObject({ reason: 'retry_after', waitMs: 59_000 });
    expect(offerTo(lane, job('e'), 60_520)).toBe('placed');
    expect(offerTo(lane, job('f'), 60_520)).toBe('queued');
  });

  test('Retry-After holds no last attempt back, and they go one by one', () => {
    const { lane, job, names, started, refused } = setUp({ start: 1 });
    offerTo(lane, job('first'), 0);
    lane.freePlace(started[0]!, 10, { kind: 'throttled', retryAfterMs: 60_000 });
    const last = (name: string) => offerTo(lane, job(name, { isLast: true }), 20);
    expect([last('a'), last('b'), last('c')]).toEqual(['placed', 'queued', 'queued']);
    expect(offerTo(lane, job('other'), 20)).toMatchObject({ reason: 'retry_after' });
    for (let i = 1; i <= 3; i++) {
      lane.freePlace(started[i]!, 20 + i, { kind: 'throttled', retryAfterMs: 60_000 });
    }
    expect(names().slice(1).sort()).toEqual(['a', 'b', 'c']);
    expect(refused).toEqual([]);
  });

  test('a last attempt passes neither an open circuit nor the queue of a lane that is full', () => {
    const { lane, job, names } = setUp({ start: 1 });
    offerTo(lane, job('a'), 0);
    offerTo(lane, job('b'), 0);
    expect(offerTo(lane, job('last', { isLast: true }), 0)).toBe('queued');
    lane.tick(10);
    expect(names()).toEqual(['a']);
    const other = setUp();
    fail(other.lane, other.job, 0);
    expect(offerTo(other.lane, other.job('last', { isLast: true }), 10)).toMatchObject({
      reason: 'circuit_open',
    });
  });

  test('a timeout refuses the newest jobs that cannot start in time, and a failure none', () => {
    for (const [answer, leaves] of [
      [TIMEOUT, true],
      [FAILED, false],
    ] as const) {
      const { lane, job, started, refused } = setUp({ start: 4, ceiling: 4 });
      for (let i = 0; i < 40; i++) offerTo(lane, job(String(i)), 0);
      expect(lane.queued).toBe(36);
      lane.freePlace(started[0]!, 5_000, answer);
      expect(refused.length > 0).toBe(leaves);
      expect(
        refused.every(({ refusal }) => refusal!.reason === 'lane_full' && refusal!.waitMs > 2_000),
      ).toBe(true);
      if (leaves) expect(refused[0]!.name).toBe('39');
      expect(refused.length + lane.queued + started.length).toBe(40);
    }
  });

  test('a rate is kept by the clock, and jobs that would wait too long for it are refused', () => {
    const { lane, job, started } = setUp({
      start: 100,
      ceiling: 100,
      maxWaitMs: 1_000,
      maxQueuedBytes: 1e9,
    });
    lane.rateLimit.set(20, 0);
    const offers = Array.from({ length: 50 }, (_, i) => offerTo(lane, job(String(i)), 0));
    expect(offers.filter((offer) => offer === 'queued')).toHaveLength(20);
    // 20 jobs wait in the lane, and 28 were diverted before this one.
    expect(offers.at(-1)).toEqual({ reason: 'rate_limited', waitMs: 2_450 });
    for (let now = 0; now <= 500; now += 20) lane.tick(now);
    expect(started.length).toBeGreaterThanOrEqual(10);
    expect(started.length).toBeLessThanOrEqual(13);
  });

  test('a test send bypasses queue, circuit and Retry-After, and its result counts', () => {
    const { lane, job, changes } = setUp({ start: 1 });
    fail(lane, job, 0);
    const test = job('test', { urgent: true });
    expect(offerTo(lane, test, 10)).toBe('placed');
    lane.freePlace(test, 20, OK);
    expect(changes).toEqual(['opened: failed', 'responded: ok']);
  });

  test('with all sockets taken, a hung lane does not keep a small one from its places', () => {
    const { newLane, job, started } = setUp(
      { start: 50, ceiling: 50, maxWaitMs: 1e9, maxQueuedBytes: 1e9 },
      20,
    );
    const [hung, small] = [newLane(), newLane()];
    for (let i = 0; i < 100; i++) offerTo(hung, job('hung'), 0);
    expect(hung.active).toBe(20);
    for (let i = 0; i < 10; i++) offerTo(small, job('small'), 1);
    for (const j of started.slice(0, 10)) hung.freePlace(j, 5_000, TIMEOUT);
    expect(small.active).toBe(10);
    expect(hung.active).toBe(10);
  });
});

describe('a burst for a healthy endpoint, in virtual time', () => {
  /**
   * Offers all jobs together; diverted ones return from their tier.
   * @param recalledPerMs they come from tiers instead, in which they had waited for their circuit
   * @returns the time of the last end, and the hops of each job
   */
  function play(
    count: number,
    latencyMs: (open: number) => number,
    options: Partial<LaneOptions>,
    recalledPerMs?: number,
  ) {
    const { lane } = setUp({
      start: 20,
      ceiling: 256,
      maxWaitMs: 10_000,
      maxQueuedBytes: 1e9,
      ...options,
    });
    const agenda = new Map<number, (() => void)[]>();
    let now = 0;
    let left = count;
    const at = (ms: number, act: () => void) => {
      const slot = Math.ceil(ms / 10) * 10;
      const acts = agenda.get(slot);
      if (acts) acts.push(act);
      else agenda.set(slot, [act]);
    };
    const hops = Array<number>(count).fill(0);
    const offer = (i: number) => {
      const away = (refusal?: Refusal) => {
        const wait = park({
          nowMs: 0,
          expectedWaitMs: refusal?.waitMs ?? 0,
          returnBy: 1e9,
          tiersMs: parkTiers(TIERS),
        });
        hops[i]!++;
        if (wait) at(now + wait.tierMs, () => offer(i));
      };
      const job: Job = {
        record: STAYS,
        bytes: 1_000,
        due: recalledPerMs !== undefined || hops[i]! > 0,
        cameBack: hops[i]! > 0,
        refuse: away,
        carries: () => false,
        start: () => {
          at(now + latencyMs(lane.active), () => {
            left--;
            lane.freePlace(job, now, OK);
          });
        },
      };
      const said = offerTo(lane, job, now);
      if (typeof said === 'object') away(said);
    };
    for (let i = 0; i < count; i++) {
      if (recalledPerMs === undefined) offer(i);
      else at(i / recalledPerMs, () => offer(i));
    }
    for (; left > 0 && now < 3_600_000; now += 10) {
      for (const act of agenda.get(now) ?? []) act();
      agenda.delete(now);
      lane.tick(now);
    }
    return { now, most: Math.max(...hops), mean: hops.reduce((a, b) => a + b, 0) / count };
  }

  test('10,000 jobs at 100 ms take about as long as at the ceiling, and at most one hop', () => {
    const { now, most } = play(10_000, () => 100, {});
    expect(now).toBeLessThan(1.2 * (10_000 / 256) * 100);
    expect(most).toBeLessThanOrEqual(1);
  });

  test('10,000 jobs for an endpoint that works on 20 take few hops and little extra time', () => {
    const { now, mean } = play(10_000, (open) => 100 * Math.max(1, open / 20), {});
    expect(now).toBeLessThan(1.5 * (10_000 / 20) * 100);
    expect(mean).toBeLessThan(2);
  });

  test('30,000 recalled jobs for an endpoint that works on 20 take few hops', () => {
    const { now, mean } = play(30_000, (open) => 100 * Math.max(1, open / 20), {}, 2);
    expect(now).toBeLessThan(1.3 * (30_000 / 20) * 100);
    expect(mean).toBeLessThan(3);
  });
});

describe('lanes under any load', () => {
  const signal = fc.oneof(
    { arbitrary: fc.constant(OK), weight: 6 },
    {
      arbitrary: fc.constantFrom<Signal>(
        FAILED,
        TIMEOUT,
        { kind: 'withdrawn' },
        { kind: 'throttled' },
      ),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant('throttled' as const),
        retryAfterMs: fc.integer({ min: 1, max: 5_000 }),
      }),
      weight: 1,
    },
  );
  const step = fc.oneof(
    fc.record({ do: fc.constant('offer' as const), lane: fc.nat(2), due: fc.boolean() }),
    fc.record({ do: fc.constant('end' as const), nth: fc.nat(30), signal }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 2_000 }) }),
    fc.record({ do: fc.constant('remove' as const), nth: fc.nat(100) }),
  );

  test('each job has one outcome, no limit is exceeded, and all lanes drain in the end', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 250 }),
        fc.option(fc.integer({ min: 1, max: 100 })),
        (steps, rate) => {
          const { newLane, around, started, refused, job } = setUp({}, 7);
          const lanes = [newLane(), newLane(), newLane()];
          if (rate !== null) lanes[0]!.rateLimit.set(rate, 0);
          const all: { job: Given; lane: Lane; fate?: 'refused' | 'removed' }[] = [];
          const open = new Set<Given>();
          let now = 0;
          let seen = 0;
          const check = () => {
            for (; seen < started.length; seen++) open.add(started[seen]!);
            expect(around.sockets.used).toBe(lanes.reduce((sum, lane) => sum + lane.active, 0));
            expect(around.sockets.used).toBeLessThanOrEqual(7);
            expect(open.size).toBe(around.sockets.used);
            expect(around.queued.count).toBe(lanes.reduce((sum, lane) => sum + lane.queued, 0));
          };
          const laneOf = (given: Given) => all.find((entry) => entry.job === given)!.lane;
          const end = (given: Given, how: Signal) => {
            open.delete(given);
            const lane = laneOf(given);
            lane.freePlace(given, now, how);
            for (; seen < started.length; seen++) {
              open.add(started[seen]!);
              const began = laneOf(started[seen]!);
              expect(began.active).toBeLessThanOrEqual(Math.max(1, began.limit));
            }
          };
          for (const each of steps) {
            if (each.do === 'offer') {
              const lane = lanes[each.lane]!;
              const entry: (typeof all)[number] = {
                job: job(String(all.length), { due: each.due }),
                lane,
              };
              all.push(entry);
              const offer = offerTo(lane, entry.job, now);
              if (typeof offer === 'object') {
                entry.fate = 'refused';
                expect(offer.waitMs).toBeGreaterThanOrEqual(0);
                expect(Number.isFinite(offer.waitMs)).toBe(true);
              }
            } else if (each.do === 'end') {
              const given = [...open][each.nth];
              if (given) end(given, each.signal);
            } else if (each.do === 'pass') {
              now += each.ms;
              for (const lane of [...around.timed]) lane.tick(now);
            } else {
              const entry = all[each.nth];
              if (entry?.lane.remove(entry.job)) entry.fate = 'removed';
            }
            check();
          }
          for (let i = 0; i < 2_000 && (open.size > 0 || around.queued.count > 0); i++) {
            now += 50;
            for (const lane of [...around.timed]) lane.tick(now);
            check();
            for (const given of [...open]) end(given, OK);
          }
          expect([
            open.size,
            around.queued.count,
            around.queued.bytes,
            around.sockets.used,
          ]).toEqual([0, 0, 0, 0]);
          const startedOnce = new Set(started);
          expect(startedOnce.size).toBe(started.length);
          const givenBack = new Set(refused.map(({ name }) => name));
          expect(givenBack.size).toBe(refused.length);
          for (const { job: given, fate } of all) {
            const fates = [
              startedOnce.has(given),
              givenBack.has(given.name),
              fate !== undefined,
            ].filter(Boolean);
            expect(fates).toHaveLength(1);
          }
        },
      ),
      { numRuns: cases(300) },
    );
  });
});
