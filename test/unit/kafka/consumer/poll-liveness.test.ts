import { PollLiveness } from '../../../../shared/kafka/consumer/poll-liveness';

test('a loop is stuck when it has not turned for a minute, and no longer once it turns', () => {
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
