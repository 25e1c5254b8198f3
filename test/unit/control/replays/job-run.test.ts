import { RateLimiter } from '../../../../services/control/replays/job-run';

test('a rate of 2 a second allows a record each 500 ms by the given clock', async () => {
  let nowMs = 0;
  const limiter = new RateLimiter(2, () => nowMs);
  const isFree = async () => {
    let waited = false;
    await limiter.take(1, () => !(waited = true));
    return !waited;
  };
  expect(await isFree()).toBe(true);
  nowMs = 600;
  expect(await isFree()).toBe(true);
  expect(await isFree()).toBe(false);
});
