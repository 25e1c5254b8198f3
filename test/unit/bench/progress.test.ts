import { duration, Progress } from '../../../tools/bench/progress';

describe('progress', () => {
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
