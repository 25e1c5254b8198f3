import { FetchThrottle, installCodec } from '../../../../shared/kafka/kafkajs/codec-hook';

test('two fetches start at least the configured time apart', () => {
  const throttle = new FetchThrottle(3);
  expect([100, 101, 104.5, 105].map((now) => throttle.wait(now))).toEqual([0, 2, 1.5, 4]);
});

test('a consumer that was idle fetches without a delay', () => {
  const throttle = new FetchThrottle(3);
  expect([100, 200].map((now) => throttle.wait(now))).toEqual([0, 0]);
});

test('a consumer is throttled whatever the order of its partitions, and not by the fetches of another consumer', async () => {
  // kafkajs shuffles the partitions of each request.
  jest.useFakeTimers();
  installCodec();
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types
  const Broker = require('kafkajs/src/broker') as new (options: object) => { fetch(request: object): Promise<unknown> };
  const begun: string[] = [];
  const broker = (name: string) =>
    Object.assign(new Broker({ connectionPool: {}, logger: { namespace: () => ({}) } }), {
      lookupRequest: () => (request: object) => {
        begun.push(`${name} ${Date.now() - startedAt}`);
        throw Object.assign(new Error('not sent'), { request });
      },
    });
  const startedAt = Date.now();
  const [one, other] = [broker('one'), broker('other')];
  const fetch = (of: typeof one, partition: number) =>
    void of.fetch({ maxWaitTime: 100, topics: [{ topic: 't', partitions: [{ partition }] }] }).catch(() => undefined);
  for (const partition of [0, 1]) fetch(one, partition);
  fetch(other, 0);
  await jest.advanceTimersByTimeAsync(100);
  expect(begun).toEqual(['one 0', 'other 0', 'one 5']);
  jest.useRealTimers();
});
