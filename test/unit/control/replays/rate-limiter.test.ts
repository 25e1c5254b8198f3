import { RateLimiter } from '../../../../services/control/replays/rate-limiter';

beforeEach(() => jest.useFakeTimers({ advanceTimers: true, doNotFake: ['setTimeout', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

test.each([
  ['on time', 0],
  ['set forward', 3_600_000],
  ['set back', -3_600_000],
])('a rate of 2 a second allows a record each 500 ms while the clock is %s', async (_, byMs) => {
  const limiter = new RateLimiter(2);
  const isFree = async () => {
    let waited = false;
    await limiter.take(1, () => !(waited = true));
    return !waited;
  };
  expect(await isFree()).toBe(true);
  jest.setSystemTime(Date.now() + byMs);
  jest.advanceTimersByTime(600);
  expect(await isFree()).toBe(true);
  expect(await isFree()).toBe(false);
});
