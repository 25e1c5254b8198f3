import { duration, howMany, Progress, soFar } from '../../../tools/bench/progress';

describe('progress', () => {
  test.each([
    [20_000, 30_000, 'isolation: 20 s, about 10 s left'],
    [180_000, 600_000, 'isolation: 3 min, about 7 min left'],
    [30_001, 30_000, 'isolation: 30 s, nearly done'],
    [40_000, 30_000, 'isolation: 40 s, longer than expected'],
  ])('after %d ms of %d', (elapsedMs, expectedMs, text) =>
    expect(soFar('isolation', elapsedMs, expectedMs)).toBe(text),
  );

  test('progress of a count has the number, the rate and the remaining time', () => {
    const at = { of: 300_000, sinceMs: 20_000 };
    expect(howMany('counting', 100_000, at)).toBe(
      'counting: 100,000 of 300,000, 5,000/s, about 40 s left',
    );
    expect(howMany('counting', 0, at)).toBe('counting: 0 of 300,000');
  });

  test.each([
    [0, '0 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
  ])('shows %d ms as %s', (ms, text) => expect(duration(ms)).toBe(text));

  test('a step names the round and the part, and returns the measurement', async () => {
    const told: string[] = [];
    const part = new Progress((text) => told.push(text)).within('round 1').within('outage');
    expect(await part.during('the endpoint is dead', 1, () => Promise.resolve(5))).toBe(5);
    expect(told).toEqual(['round 1: outage: the endpoint is dead']);
  });
});
