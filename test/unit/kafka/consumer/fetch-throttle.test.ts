import { FetchThrottle } from '../../../../shared/kafka/consumer/fetch-throttle';

test('two fetches start at least 2 ms apart', () => {
  const throttle = new FetchThrottle();
  expect([100, 101, 103.5, 104].map((now) => throttle.wait(now))).toEqual([0, 1, 0.5, 2]);
});

test('after many records the next fetch waits for longer, after few again for less', () => {
  const throttle = new FetchThrottle();
  throttle.wait(100);
  throttle.noteRecords(16);
  expect(throttle.wait(101)).toBe(4);
  throttle.noteRecords(15);
  expect(throttle.wait(106)).toBe(1);
});

test('a consumer that was idle fetches without a delay', () => {
  const throttle = new FetchThrottle();
  expect([100, 200].map((now) => throttle.wait(now))).toEqual([0, 0]);
});
