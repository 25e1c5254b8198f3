import { TierReader } from '../../../services/retry/tier-reader';
import { type Consumption } from '../../../shared/kafka/port';
import { createLog } from '../../../shared/telemetry/log';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('a stop gives up the partitions although Kafka does not name its topics', async () => {
  let lists = 0;
  const stops: number[] = [];
  const tiers = new TierReader({
    kafka: {
      listTopics: () =>
        lists++ === 0 ? Promise.resolve(['webhooks.retry.10s']) : new Promise(() => undefined),
    },
    consume: () =>
      Promise.resolve({
        stop: (deadlineMs: number) => Promise.resolve(void stops.push(deadlineMs)),
      } as Consumption),
    onLeaving: () => undefined,
    onConsumption: () => undefined,
    log: createLog('test', 'silent'),
  });
  await tiers.start();
  await jest.advanceTimersByTimeAsync(30_000);
  expect(lists).toBe(2);
  const stopped = tiers.stop(20_000);
  await jest.advanceTimersByTimeAsync(20_000);
  await stopped;
  expect(stops).toEqual([15_000]);
});
