import { openLoop } from '../../../tools/harness/timing';

describe('an open loop', () => {
  test('an open loop starts what it may, and resolves when all work has ended', async () => {
    let [started, ended] = [0, 0];
    await openLoop(
      100_000,
      (count) => count < 50,
      async () => {
        started++;
        await new Promise(setImmediate);
        ended++;
      },
    );
    expect([started, ended]).toEqual([50, 50]);
  });

  test('an open loop does not wait for a start to end before the next', async () => {
    const open: (() => void)[] = [];
    const one = () => new Promise<void>((resolve) => open.push(resolve));
    const loop = openLoop(
      100_000,
      (count) => count < 3 || (open.splice(0).forEach((end) => end()), false),
      one,
    );
    await loop;
    expect(open).toEqual([]);
  });

  test('an open loop throws the first failure after started work has ended', async () => {
    let ended = 0;
    const one = async () => {
      await new Promise(setImmediate);
      ended++;
      throw new Error('refused');
    };
    await expect(openLoop(100_000, () => true, one)).rejects.toThrow('refused');
    expect(ended).toBeGreaterThan(0);
  });
});
