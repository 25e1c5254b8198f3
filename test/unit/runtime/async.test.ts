import { setImmediate } from 'node:timers/promises';
import {
  backoff,
  inTurn,
  Periodic,
  sleep,
  withDeadline,
  withTimeout,
} from '../../../shared/runtime/async';

const never = new Promise<never>(() => undefined);

describe('pauses, limits and intervals', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  test('a sleep resolves when its time is over, and not before', async () => {
    const ended = jest.fn();
    void sleep(100).then(ended);
    await jest.advanceTimersByTimeAsync(99);
    expect(ended).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  test('an aborted signal ends a sleep early, without an error and without a timer', async () => {
    const abort = new AbortController();
    const sleeping = sleep(100, { signal: abort.signal });
    abort.abort();
    await sleeping;
    await sleep(100, { signal: abort.signal });
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a back-off doubles its pauses up to the longest, until a reset starts anew', async () => {
    const waited: number[] = [];
    const retry = backoff(200, 1_000, (ms) => Promise.resolve(void waited.push(ms)));
    for (let i = 0; i < 4; i++) await retry.pause();
    expect(retry.nextMs).toBe(1_000);
    retry.reset();
    await retry.pause();
    expect(waited).toEqual([200, 400, 800, 1_000, 200]);
  });

  test('a timeout resolves when work ends or the time is over, and leaves no timer', async () => {
    await withTimeout(100, Promise.resolve('result'));
    await expect(withTimeout(100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(jest.getTimerCount()).toBe(0);
    const ended = jest.fn();
    void withTimeout(100, never).then(ended);
    await jest.advanceTimersByTimeAsync(100);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  test('a deadline returns the result of the work, its error, or kafka_unavailable', async () => {
    expect(await withDeadline(100, Promise.resolve(7))).toBe(7);
    await expect(withDeadline(100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const late = expect(withDeadline(100, never)).rejects.toMatchObject({
      code: 'kafka_unavailable',
      retriable: true,
    });
    await jest.advanceTimersByTimeAsync(100);
    await late;
  });

  test('periodic work runs in its interval, and a longer run does not queue up', async () => {
    let release: () => void = () => undefined;
    const work = jest.fn(() => new Promise<void>((resolve) => (release = resolve)));
    const periodic = new Periodic(100, work);
    periodic.start();
    await jest.advanceTimersByTimeAsync(350);
    expect(work).toHaveBeenCalledTimes(1);
    release();
    await jest.advanceTimersByTimeAsync(100);
    expect(work).toHaveBeenCalledTimes(2);
    release();
    await periodic.stop();
    await jest.advanceTimersByTimeAsync(200);
    expect(work).toHaveBeenCalledTimes(2);
  });
});

test('work in turn runs one at a time in its order of calls, also after a failure', async () => {
  const take = inTurn();
  const steps: string[] = [];
  const step = (name: string, fails = false) =>
    take(async () => {
      steps.push(`${name} begins`);
      await setImmediate();
      steps.push(`${name} ends`);
      if (fails) throw new Error(name);
      return name;
    });
  const results = await Promise.allSettled([step('a'), step('b', true), step('c')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

test('periodic work that fails goes on, and reports the first of failures in a row', async () => {
  const reported: unknown[] = [];
  const outcomes = ['first', 'second', undefined, 'third'];
  const periodic = new Periodic(
    60_000,
    () => {
      const failure = outcomes.shift();
      return failure === undefined ? Promise.resolve() : Promise.reject(new Error(failure));
    },
    (error) => reported.push((error as Error).message),
  );
  for (let run = 0; run < 4; run++) await periodic.now();
  expect(reported).toEqual(['first', 'third']);
});

test('a mistake in periodic work that expects no failure is not passed over', async () => {
  const mistake = new TypeError('a mistake');
  const periodic = new Periodic(60_000, () => Promise.reject(mistake));
  await expect(periodic.now()).rejects.toBe(mistake);
});

test('the end of periodic work waits for the current run, then runs it a last time', async () => {
  const steps: number[] = [];
  let runs = 0;
  const periodic = new Periodic(60_000, async () => {
    const run = ++runs;
    await setImmediate();
    steps.push(run);
  });
  void periodic.now();
  await periodic.end();
  expect(steps).toEqual([1, 2]);
});
