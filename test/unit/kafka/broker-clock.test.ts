import { BrokerClock } from '../../../shared/kafka/broker-clock';

/** Returns a process whose clock is wrong by this many ms. */
function aClock(wrongByMs: number) {
  const at = { ms: 1_000_000 };
  const clock = new BrokerClock(
    () => at.ms,
    () => at.ms + wrongByMs,
  );
  /**
   * Makes a produce request that takes this many ms; the broker sets the timestamp in the middle.
   */
  const write = (tookMs: number) => {
    const mark = clock.mark();
    at.ms += tookMs;
    clock.wrote(at.ms - Math.floor(tookMs / 2), mark);
  };
  return { at, clock, write, errorMs: () => Math.abs(clock.now() - at.ms) };
}

test.each([0, 3_600_000, -3_600_000, 5, -5])(
  'a clock that is wrong by %d ms shows the time of the brokers after one write',
  (wrongByMs) => {
    const { write, errorMs } = aClock(wrongByMs);
    write(10);
    expect(errorMs()).toBeLessThanOrEqual(6);
  },
);

test('a clock that is behind shows the time of the brokers after one read', () => {
  const { at, clock, errorMs } = aClock(-3_600_000);
  clock.read(at.ms - 3);
  expect(errorMs()).toBe(3);
});

test('reading an old record does not change the broker clock', () => {
  const { at, clock, errorMs } = aClock(0);
  clock.read(at.ms - 86_400_000);
  expect(errorMs()).toBe(0);
});

test('a slow write does not change a broker clock that is right', () => {
  const { write, errorMs } = aClock(0);
  write(4_000);
  expect(errorMs()).toBe(0);
});

test('the broker clock advances between timestamps', () => {
  const { at, clock, write, errorMs } = aClock(-3_600_000);
  write(10);
  const error = errorMs();
  at.ms += 1_800_000;
  expect(errorMs()).toBe(error);
  expect(clock.now()).toBeGreaterThan(1_000_000 + 1_800_000);
});

test('a timestamp that is hours ahead in a record that was read is ignored after a write', () => {
  const { at, clock, write, errorMs } = aClock(0);
  write(10);
  clock.read(at.ms + 18_000_000);
  expect(errorMs()).toBeLessThanOrEqual(6);
});

test('one of three brokers whose clock is hours ahead does not move the broker clock', () => {
  const { at, clock, write, errorMs } = aClock(0);
  for (let i = 0; i < 60; i++) {
    write(10);
    if (i % 3 === 2) clock.wrote(at.ms + 18_000_000, clock.mark());
    if (i >= 3) expect(errorMs()).toBeLessThanOrEqual(6);
  }
});

test.each([60_000, -75_000])(
  'a step of one clock by %d ms moves nothing, and is shown',
  (stepMs) => {
    const at = { ms: 1_000_000, wallMs: 0, brokersMs: 0 };
    const clock = new BrokerClock(
      () => at.ms,
      () => at.ms + at.wallMs,
    );
    const write = () => clock.wrote(at.ms + at.brokersMs, clock.mark());
    const lead = () => clock.now() - at.ms;
    write();
    at.wallMs = stepMs;
    expect([lead(), clock.differences()]).toEqual([0, { machine: stepMs, brokers: 0 }]);
    at.wallMs = 0;
    expect(lead()).toBe(0);
    at.brokersMs = stepMs;
    for (let i = 0; i < 20; i++) write();
    expect([lead(), clock.differences().machine]).toEqual([0, 0]);
    expect(clock.differences().brokers).toBeCloseTo(stepMs, -2);
    // Now two agree.
    at.wallMs = stepMs;
    expect(lead()).toBeCloseTo(stepMs, -2);
  },
);

test('after its machine stopped, a clock is in doubt until the next write tells the time', () => {
  const at = { ms: 1_000_000, stoppedMs: 0 };
  const clock = new BrokerClock(
    () => at.ms - at.stoppedMs,
    () => at.ms,
  );
  const write = () => clock.wrote(at.ms, clock.mark());
  const lateMs = () => at.ms - clock.now();
  for (let i = 0; i < 20; i++) write();
  expect([clock.isInDoubt, lateMs()]).toEqual([false, 0]);
  at.ms += 90_000;
  at.stoppedMs = 90_000;
  expect([clock.isInDoubt, lateMs()]).toEqual([true, 90_000]);
  write();
  expect([clock.isInDoubt, lateMs()]).toEqual([false, 0]);
});

test('a write that was under way while its machine was stopped tells it nothing', () => {
  const at = { ms: 1_000_000, stoppedMs: 0 };
  const clock = new BrokerClock(
    () => at.ms - at.stoppedMs,
    () => at.ms,
  );
  for (let i = 0; i < 20; i++) clock.wrote(at.ms, clock.mark());
  const mark = clock.mark();
  const stampMs = at.ms;
  at.ms += 90_000;
  at.stoppedMs = 90_000;
  clock.wrote(stampMs, mark);
  expect([clock.isInDoubt, clock.brokersNow()]).toEqual([true, at.ms - 90_000]);
  clock.wrote(at.ms, clock.mark());
  expect([clock.isInDoubt, clock.now(), clock.brokersNow()]).toEqual([false, at.ms, at.ms]);
});

test('a clock of a machine that stays wrong is in doubt only until the next write', () => {
  const at = { ms: 1_000_000, wrongMs: 0 };
  const clock = new BrokerClock(
    () => at.ms,
    () => at.ms + at.wrongMs,
  );
  const write = () => clock.wrote(at.ms, clock.mark());
  write();
  at.wrongMs = -75_000;
  expect(clock.isInDoubt).toBe(true);
  write();
  expect([clock.isInDoubt, clock.now()]).toEqual([false, at.ms]);
});

test('a clock that is corrected slowly is never in doubt', () => {
  const at = { ms: 1_000_000, wrongMs: 0 };
  const clock = new BrokerClock(
    () => at.ms,
    () => at.ms + at.wrongMs,
  );
  for (let i = 0; i < 30; i++) {
    clock.wrote(at.ms, clock.mark());
    at.wrongMs += 100;
    expect(clock.isInDoubt).toBe(false);
  }
});
