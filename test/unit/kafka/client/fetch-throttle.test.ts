import { fetchInTurn, FetchThrottle } from '../../../../shared/kafka/client/fetch-throttle';

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

test('the records of all partitions count', async () => {
  jest.useFakeTimers();
  const broker = {};
  const partition = (records: number) => ({ messages: Array<string>(records) });
  const send = jest.fn(() =>
    Promise.resolve({ responses: [{ partitions: [partition(9), partition(7)] }] }),
  );
  await fetchInTurn(broker, send);
  const second = fetchInTurn(broker, send);
  await jest.advanceTimersByTimeAsync(4);
  expect(send).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(1);
  expect(send).toHaveBeenCalledTimes(2);
  await second;
  jest.useRealTimers();
});
