import { PollLiveness } from '../../../../shared/runtime/health';

test('a consumer loop is stuck after a minute without a turn, and recovers with the next', () => {
  let now = 1_000;
  const loop = new PollLiveness(() => now);
  now += 60_000;
  expect(loop.stuck()).toBeUndefined();
  now += 1;
  expect(loop.stuck()).toMatch(/60001 ms/);
  loop.recordPoll();
  expect(loop.stuck()).toBeUndefined();
  expect(loop.pollAgeMs).toBe(0);
});
