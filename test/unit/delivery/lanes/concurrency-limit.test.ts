import fc from 'fast-check';
import { ConcurrencyLimit } from '../../../../services/delivery/lanes/concurrency-limit';
import { type Signal } from '../../../../services/delivery/lanes/job';

const OPTIONS = { floor: 1, start: 20, ceiling: 256 };
const OK: Signal = { kind: 'ok' };

/**
 * Runs rounds in full use: each fills the limit and completes all of it together. @returns the time
 * at the end
 */
function rounds(
  pace: ConcurrencyLimit,
  count: number,
  latencyMs: number | ((width: number) => number),
  from = 0,
): number {
  let now = from;
  for (let i = 0; i < count; i++) {
    const startedAt = now;
    const width = pace.limit;
    now += typeof latencyMs === 'number' ? latencyMs : latencyMs(width);
    for (let k = 0; k < width; k++) pace.adjust(OK, { startedAt, now, inFullUse: true });
  }
  return now;
}

/** Returns a limit after one failure, with the initially guessed latency. */
function troubled(): ConcurrencyLimit {
  const pace = new ConcurrencyLimit(OPTIONS);
  pace.adjust({ kind: 'failed' }, { startedAt: 0, now: 100, inFullUse: true });
  return pace;
}

describe('the concurrency limit of an endpoint', () => {
  test('it doubles each round up to the ceiling while there is no trouble', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    const widths = [1, 2, 3, 4, 5].map((round) => {
      rounds(pace, 1, 50, round * 50);
      return pace.limit;
    });
    expect(widths).toEqual([40, 80, 160, 256, 256]);
  });

  test.each<Signal>([
    { kind: 'failed' },
    { kind: 'timeout' },
    { kind: 'throttled' },
    { kind: 'irregular' },
  ])('after $kind it grows by one per round from then on', (signal) => {
    const pace = new ConcurrencyLimit({ ...OPTIONS, start: 40 });
    pace.adjust(signal, { startedAt: 0, now: 50, inFullUse: true });
    const before = pace.limit;
    rounds(pace, 10, 50, 100);
    expect(pace.limit - before).toBeGreaterThanOrEqual(8);
    expect(pace.limit - before).toBeLessThanOrEqual(11);
  });

  test('after breaking at a high limit, it grows normally to half of that, then slowly', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    rounds(pace, 3, 50);
    expect(pace.limit).toBe(160);
    pace.broke();
    pace.restart(50);
    rounds(pace, 62, 50, 1_000);
    expect(pace.limit).toBeGreaterThanOrEqual(79);
    expect(pace.limit).toBeLessThanOrEqual(82);
    rounds(pace, 100, 50, 10_000);
    expect(pace.limit).toBeLessThanOrEqual(84);
    rounds(pace, 5_000, 50, 20_000);
    expect(pace.limit).toBe(256);
  });

  test('an endpoint that breaks at the start limit gets the same limit again', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    pace.broke();
    pace.restart(50);
    rounds(pace, 10, 50);
    expect(pace.limit).toBeGreaterThanOrEqual(28);
  });

  test('after an outage it grows by one per round up to the ceiling', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    pace.restart(50);
    rounds(pace, 10, 50);
    expect(pace.limit).toBeGreaterThanOrEqual(28);
    expect(pace.limit).toBeLessThanOrEqual(31);
    rounds(pace, 400, 50, 1_000);
    expect(pace.limit).toBe(256);
  });

  test('it does not grow while it is not in full use', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    for (let i = 0; i < 500; i++) {
      pace.adjust(OK, { startedAt: i * 10, now: i * 10 + 5, inFullUse: false });
    }
    expect(pace.limit).toBe(20);
  });

  test('it stops growing when more concurrency only adds latency', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    // The endpoint works on 30 at a time: the limit doubles beyond that and goes back.
    const latency = (width: number) => 100 * Math.max(1, width / 30);
    const now = rounds(pace, 4, latency);
    expect(pace.limit).toBeLessThan(90);
    rounds(pace, 1_000, latency, now);
    expect(pace.limit).toBeGreaterThan(40);
    expect(pace.limit).toBeLessThan(90);
  });

  test('it halves once per wave of timeouts', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    for (const kind of ['timeout', 'throttled'] as const) {
      const before = pace.limit;
      const startedAt = kind === 'timeout' ? 0 : 6_000;
      for (let i = 0; i < 20; i++) {
        pace.adjust({ kind }, { startedAt, now: startedAt + 5_000 + i, inFullUse: true });
      }
      expect(pace.limit).toBe(before / 2);
    }
  });

  test('an irregular response counts as slow: once per wave it halves, down to the start', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    let now = rounds(pace, 3, 50);
    const limits = [pace.limit];
    for (let wave = 0; wave < 5; wave++) {
      const startedAt = now;
      now += 50;
      for (let k = 0; k < 20; k++) {
        pace.adjust({ kind: 'irregular' }, { startedAt, now, inFullUse: true });
      }
      limits.push(pace.limit);
    }
    expect(limits).toEqual([160, 80, 40, 20, 20, 20]);
  });

  test('it shrinks while latency is far above normal, not below the start, and recovers', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    let now = rounds(pace, 200, 20);
    expect(pace.limit).toBeGreaterThan(150);
    now = rounds(pace, 40, 1_000, now);
    expect(pace.limit).toBeLessThan(60);
    expect(pace.limit).toBeGreaterThanOrEqual(20);
    rounds(pace, 100, 1_000, now);
    expect(pace.growing).toBe(true);
  });

  test('a single slow or quick response does not set the usual latency', () => {
    for (const first of [0, 800]) {
      const pace = new ConcurrencyLimit(OPTIONS);
      pace.adjust(OK, { startedAt: 0, now: first, inFullUse: true });
      rounds(pace, 20, 100, 1_000);
      expect(pace.limit).toBeGreaterThan(25);
    }
  });

  test('a busy start of this process makes no endpoint look slow afterwards', () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    // A request takes 100 ms, but the clock counted 20 because the event loop stalled.
    for (let now = 20; now <= 400; now += 20) {
      for (let k = 0; k < 40; k++) {
        pace.adjust(OK, { startedAt: now - 20, now, stalledMs: 80, inFullUse: true });
      }
    }
    expect(pace.limit).toBe(256);
    rounds(pace, 50, 100, 1_000);
    expect(pace.limit).toBe(256);
  });

  test("after an outage it restarts at the start limit with the first response's latency", () => {
    const pace = new ConcurrencyLimit(OPTIONS);
    for (let i = 0; i < 60; i++) {
      pace.adjust(
        { kind: 'timeout' },
        { startedAt: i * 6_000, now: i * 6_000 + 5_000, inFullUse: true },
      );
    }
    expect([pace.limit, Math.round(pace.meanMs / 100)]).toEqual([1, 50]);
    pace.restart(30);
    expect([pace.limit, pace.meanMs]).toEqual([20, 30]);
  });

  test.each([
    // jobs, ms for one, width, while the limit grows by one per round
    [10_000, 100, 20, 12_283],
    [20, 100, 20, 98],
    [200_000, 100, 20, 78_125 + 10_891],
  ])(
    '%d jobs of %d ms at width %d take about %d ms while it grows by one per round',
    (jobs, oneMs, width, expected) => {
      const wait = troubled().drainMs(jobs, oneMs, width);
      expect(wait / expected).toBeGreaterThan(0.93);
      expect(wait / expected).toBeLessThan(1.07);
    },
  );

  test.each([
    [20, 100, 20, 100],
    [140, 100, 20, 300],
    [10_000, 100, 20, 368 + 3_814],
  ])(
    '%d jobs of %d ms at width %d take about %d ms while it doubles',
    (jobs, oneMs, width, expected) => {
      const wait = new ConcurrencyLimit(OPTIONS).drainMs(jobs, oneMs, width);
      expect(wait / expected).toBeGreaterThan(0.99);
      expect(wait / expected).toBeLessThan(1.01);
    },
  );

  test('the estimate does not count on places that others hold', () => {
    expect(new ConcurrencyLimit(OPTIONS).drainMs(100, 100, 4)).toBe(2_500);
  });

  test('the limit always stays between floor and ceiling, and longer queues take no less', () => {
    const signal = fc.constantFrom<Signal>(
      OK,
      { kind: 'failed' },
      { kind: 'timeout' },
      { kind: 'throttled' },
      { kind: 'irregular' },
    );
    const step = fc.tuple(
      signal,
      fc.integer({ min: 0, max: 6_000 }),
      fc.integer({ min: 0, max: 500 }),
      fc.boolean(),
    );
    fc.assert(
      fc.property(fc.array(step), fc.integer({ min: 1, max: 1e5 }), (steps, jobs) => {
        const pace = new ConcurrencyLimit(OPTIONS);
        let now = 10_000;
        for (const [kind, latency, passed, inFullUse] of steps) {
          now += passed;
          pace.adjust(kind, { startedAt: now - latency, now, inFullUse });
          expect(pace.limit).toBeGreaterThanOrEqual(1);
          expect(pace.limit).toBeLessThanOrEqual(256);
        }
        expect(pace.drainMs(jobs + 1, 10, pace.limit)).toBeGreaterThanOrEqual(
          pace.drainMs(jobs, 10, pace.limit),
        );
      }),
    );
  });
});
