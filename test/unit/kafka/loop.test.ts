import { Loop } from '../../../shared/kafka/loop';

test('a loop is stuck when it has not turned for a minute, and no longer once it turns', () => {
  let now = 1_000;
  const loop = new Loop(() => now);
  now += 60_000;
  expect(loop.stuck()).toBeUndefined();
  now += 1;
  expect(loop.stuck()).toMatch(/60001 ms/);
  loop.turned();
  expect(loop.stuck()).toBeUndefined();
  expect(loop.turnedMs).toBe(0);
});
