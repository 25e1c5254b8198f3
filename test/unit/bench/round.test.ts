import { RunParts } from '../../../tools/bench/round';
import { Progress } from '../../../tools/bench/progress';

function anAttempts(only: string[]) {
  const told: string[] = [];
  return { told, attempts: new RunParts(new Set(only), new Progress((text) => told.push(text))) };
}

describe('parts of a run', () => {
  test('a part returns its measurement', async () => {
    const { attempts } = anAttempts(['bare']);
    expect(await attempts.run('bare', 'bare loop', () => Promise.resolve(7))).toBe(7);
    expect(attempts.failures).toEqual([]);
  });

  test('a part that is not selected does not run', async () => {
    const { attempts } = anAttempts(['bare']);
    const measure = jest.fn(() => Promise.resolve(7));
    expect(await attempts.run('delivery', 'delivery alone', measure)).toBeUndefined();
    expect(measure).not.toHaveBeenCalled();
  });

  test('a part that fails is reported, and the others continue', async () => {
    const { attempts, told } = anAttempts(['bare', 'delivery']);
    const failed = await attempts.run<number>('bare', 'bare loop', () =>
      Promise.reject(new Error('no receiver')),
    );
    expect(failed).toBeUndefined();
    expect(await attempts.run('delivery', 'delivery alone', () => Promise.resolve(8))).toBe(8);
    expect(attempts.failures).toEqual([{ part: 'bare', why: 'no receiver' }]);
    expect(told).toContain('bare could not be measured: no receiver');
  });

  test('parts that share a start fail together, if they are selected', async () => {
    const { attempts } = anAttempts(['singles', 'batches']);
    await attempts.run(['latency', 'batches', 'singles'], 'all', () =>
      Promise.reject(new Error('not ready')),
    );
    expect(attempts.failures).toEqual([{ part: 'batches, singles', why: 'not ready' }]);
  });
});
