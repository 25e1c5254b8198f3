import { Throttle } from '../../../../tools/bench/cases/pipeline';

describe('a throttle', () => {
  it('lets through what fits, and holds the rest until enough has arrived', async () => {
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

  it('counts nothing twice where a number comes late', async () => {
    const throttle = new Throttle(10);
    await throttle.take(10);
    throttle.arrived(8);
    throttle.arrived(6);
    expect(throttle.outstanding).toBe(2);
  });

  it('lets nobody wait once closed', async () => {
    const throttle = new Throttle(1);
    await throttle.take(1);
    const waiting = throttle.take(1);
    throttle.close();
    expect(await waiting).toBe(false);
    expect(await throttle.take(1)).toBe(false);
    expect(throttle.sent).toBe(1);
  });
});
