import { Throttle } from '../../../../tools/bench/cases/pipeline';

describe('a throttle', () => {
  test('a throttle blocks a sender until enough messages have arrived', async () => {
    const throttle = new Throttle(10);
    expect(await throttle.take(10)).toBe(true);
    let taken = false;
    const second = throttle.take(5).then(() => (taken = true));
    throttle.arrived(4);
    await Promise.resolve();
    expect(taken).toBe(false);
    throttle.arrived(5);
    await second;
    expect([throttle.sent, throttle.outstanding]).toEqual([15, 10]);
  });

  test('a throttle ignores a number of arrivals that is below the last one', async () => {
    const throttle = new Throttle(10);
    await throttle.take(10);
    throttle.arrived(8);
    throttle.arrived(6);
    expect(throttle.outstanding).toBe(2);
  });

  test('a closed throttle releases every waiting sender', async () => {
    const throttle = new Throttle(1);
    await throttle.take(1);
    const waiting = throttle.take(1);
    throttle.close();
    expect(await waiting).toBe(false);
    expect(await throttle.take(1)).toBe(false);
    expect(throttle.sent).toBe(1);
  });
});
