import { TierReader } from '../../../services/retry/tier-reader';
import { type Consumption } from '../../../shared/kafka/port';
import { createLog } from '../../../shared/telemetry/log';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Stops a reader of the tiers. @param lists what Kafka answers to each question for its topics */
async function stopped(lists: (() => Promise<string[]>)[]): Promise<number[]> {
  let asked = 0;
  const stops: number[] = [];
  const tiers = new TierReader({
    kafka: { listTopics: () => lists[asked++]!() },
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
  expect(asked).toBe(lists.length);
  const stopping = tiers.stop(20_000);
  await jest.advanceTimersByTimeAsync(20_000);
  await stopping;
  return stops;
}

const names = () => Promise.resolve(['webhooks.retry.10s']);
const never = () => new Promise<string[]>(() => undefined);

test('a stop gives up the partitions although Kafka does not name its topics', async () => {
  expect(await stopped([names, never])).toEqual([15_000]);
});

test('a stop that waits for nothing leaves all of its time to the partitions', async () => {
  expect(await stopped([names, names])).toEqual([20_000]);
});
