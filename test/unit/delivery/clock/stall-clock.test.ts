import fc from 'fast-check';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { type Clock } from '../../../../services/delivery/clock/clock';

/**
 * A clock, the real time that it reads, and its ticks. A tick takes `ms`, of it the part `busy` (0
 * to 1) as work.
 */
function setUp(cores?: number) {
  const at = { steadyMs: 0, busyMs: 0, cpuMs: 0 };
  let act: () => void = () => undefined;
  const time: Clock = {
    wallMs: () => at.steadyMs,
    agreedMs: () => at.steadyMs,
    brokersMs: () => at.steadyMs,
    steadyMs: () => at.steadyMs,
    busyMs: () => at.busyMs,
    cpuMs: () => at.cpuMs,
    every: (_, tick) => {
      act = tick;
      return () => undefined;
    },
    after: () => () => undefined,
  };
  const clock = new StallClock(time, cores);
  const rest = clock.run();
  const tick = (ms: number, busy = 0, cpu = busy) => {
    at.steadyMs += ms;
    at.busyMs += ms * busy;
    at.cpuMs += ms * cpu;
    act();
  };
  return { clock, at, tick, rest };
}

/** Returns a clock that ticked at these real times, read at `realNow`; ms since construction. */
function after(ticks: number[], realNow: number): StallClock {
  const { clock, at, tick } = setUp();
  for (const real of ticks) tick(real - at.steadyMs);
  at.steadyMs = realNow;
  return clock;
}

describe('the time for estimates of latency', () => {
  test('stops while the event loop is stalled, and counts for how long', () => {
    const { clock, at, tick } = setUp();
    tick(10, 0.1);
    tick(200, 1);
    expect([clock.now(), clock.stalledMs]).toEqual([25, 185]);
    at.steadyMs += 80;
    // Not counted yet: it may still turn out to be a stall.
    expect(clock.now() + clock.stalledMs).toBe(290);
  });

  test.each<[string, number, number, number, boolean]>([
    ['saturated after ten short turns of work', 10, 10, 1, true],
    ['saturated after one long turn of work', 1, 150, 1, true],
    ['not saturated after one long turn of waiting', 1, 150, 0.2, false],
    ['not saturated by turns that leave a tenth of the time', 10, 10, 0.9, false],
  ])('the event loop is %s', (_, turns, ms, busy, saturated) => {
    const { clock, tick } = setUp();
    for (let i = 0; i < turns; i++) tick(ms, busy);
    expect([clock.saturated, clock.usesWholeCore]).toEqual([saturated, saturated]);
  });

  test('a process that waits for the CPU is saturated, and uses no whole core', () => {
    const { clock, tick } = setUp();
    for (let i = 0; i < 10; i++) tick(100, 1, 0.3);
    expect([clock.saturated, clock.usesWholeCore]).toEqual([true, false]);
  });

  test.each([
    [0.5, 0.5, true],
    [0.5, 0.3, false],
    [4, 0.5, false],
    [4, 1, true],
  ])('a process that may use %d cores and uses %d: %p', (cores, cpu, usesWhole) => {
    const { clock, tick } = setUp(cores);
    for (let i = 0; i < 10; i++) tick(100, 1, cpu);
    expect(clock.usesWholeCore).toBe(usesWhole);
  });
});

test('counts all of the time for which it rests', () => {
  const { clock, at, tick, rest } = setUp();
  tick(10);
  rest();
  at.steadyMs += 60_000;
  expect([clock.now(), clock.deadlineNow(), clock.stalledMs]).toEqual([60_010, 60_010, 0]);
  const restAgain = clock.run();
  expect([clock.now(), clock.deadlineNow(), clock.stalledMs]).toEqual([60_010, 60_010, 0]);
  expect(clock.stoodStillSince(0)).toBe(false);
  restAgain();
});

test('is not saturated after a rest, however busy the process was before', () => {
  const { clock, at, tick, rest } = setUp();
  tick(150, 1);
  rest();
  at.steadyMs += 1_000;
  clock.run();
  expect(clock.saturated).toBe(false);
});

test('ticks a hundred times a second while somebody needs it, and not at all otherwise', () => {
  const ticking = new Set<number>();
  const time = {
    wallMs: () => 0,
    agreedMs: () => 0,
    brokersMs: () => 0,
    steadyMs: () => 0,
    busyMs: () => 0,
    cpuMs: () => 0,
    every: (ms: number) => {
      ticking.add(ms);
      return () => void ticking.delete(ms);
    },
    after: () => () => undefined,
  };
  const clock = new StallClock(time);
  expect([...ticking]).toEqual([]);
  const [first, second] = [clock.run(), clock.run()];
  first();
  expect([...ticking]).toEqual([10]);
  second();
  expect([...ticking]).toEqual([]);
});

describe('the time for deadlines', () => {
  test.each<[string, number[], number, number]>([
    ['is the real time while the process runs', [100, 200, 300], 350, 350],
    [
      'is the real time in a busy loop too, so that deadlines are kept',
      [400, 800, 1_250],
      1_700,
      1_700,
    ],
    ['counts only the first 500 ms of a standstill', [100, 8_100], 8_150, 650],
    ['counts only the first 500 ms of a standstill before the next tick', [100], 8_100, 600],
  ])('%s', (_, ticks, realNow, expected) => {
    expect(after(ticks, realNow).deadlineNow()).toBe(expected);
  });

  test.each<[string, number[], number, number, boolean]>([
    ['does not meet a standstill if there was none', [100, 200], 0, 300, false],
    ['meets a standstill while it is under way', [100, 8_100, 8_200], 50, 8_250, true],
    ['meets a standstill that no tick has shown yet', [100], 50, 8_100, true],
    ['meets a standstill that ended just before it began', [100, 8_100, 8_200], 300, 8_300, true],
    [
      'does not meet a standstill that ended long before',
      [100, 8_100, 8_500, 8_900, 9_300],
      1_700,
      9_400,
      false,
    ],
  ])('a request %s', (_, ticks, began, realNow, expected) => {
    expect(after(ticks, realNow).stoodStillSince(began)).toBe(expected);
  });

  test('never goes back, and never runs ahead of the real time', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ ms: fc.nat(3_000), ticks: fc.boolean() })), (steps) => {
        const { clock, at, tick } = setUp();
        let before = 0;
        for (const { ms, ticks } of steps) {
          if (ticks) tick(ms);
          else at.steadyMs += ms;
          const now = clock.deadlineNow();
          expect(now).toBeGreaterThanOrEqual(before);
          expect(now).toBeLessThanOrEqual(at.steadyMs);
          before = now;
        }
      }),
    );
  });
});
