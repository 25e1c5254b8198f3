import { FetchPace } from '../../../shared/kafka/codec/fetch-pace';

test('fetches of the same partitions start so far apart at least', () => {
  const pace = new FetchPace(3);
  expect([100, 101, 104.5, 105].map((now) => pace.wait('webhooks/0', now))).toEqual([0, 2, 1.5, 4]);
});

test('an idle one is not held up, nor by those of others', () => {
  const pace = new FetchPace(3);
  expect(pace.wait('webhooks/0', 100)).toBe(0);
  expect(pace.wait('config/0', 100)).toBe(0);
  expect(pace.wait('webhooks/0', 200)).toBe(0);
});

test('what it remembers is bounded', () => {
  const pace = new FetchPace(3);
  for (let i = 0; i < 5_000; i++) pace.wait(`t/${String(i)}`, 100);
  expect(pace.wait('t/4999', 100)).toBe(3);
  expect(pace.wait('t/0', 100)).toBe(0);
});
