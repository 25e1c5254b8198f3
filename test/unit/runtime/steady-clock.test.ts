import { SteadyClock } from '../../../shared/runtime/steady-clock';

function aMachine() {
  const at = { monotonicMs: 5_000, upMs: 905_400 };
  const clock = new SteadyClock(
    () => at.monotonicMs,
    () => Math.floor(at.upMs / 1_000) * 1_000,
  );
  const run = (ms: number) => {
    at.monotonicMs += ms;
    at.upMs += ms;
  };
  return { at, clock, run };
}

test('a steady clock counts the time while its machine sleeps', () => {
  const { at, clock, run } = aMachine();
  const before = clock.now();
  run(2_000);
  at.upMs += 3_600_000;
  run(1_000);
  const passed = clock.now() - before;
  expect(passed).toBeGreaterThan(3_602_000);
  expect(passed).toBeLessThanOrEqual(3_604_000);
});

test('a coarse uptime does not move a steady clock', () => {
  const { clock, run } = aMachine();
  const before = clock.now();
  for (let i = 0; i < 1_000; i++) {
    run(70);
    expect(clock.now() - before).toBe(70 * (i + 1));
  }
});
