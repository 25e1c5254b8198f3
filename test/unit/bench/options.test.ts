import { readOptions } from '../../../tools/bench/options';
import { PARTS } from '../../../tools/bench/parts';

describe('the command line', () => {
  test('measures everything but the soak three times by default', () => {
    const { only, rounds } = readOptions([]);
    expect([only, rounds]).toEqual([Object.keys(PARTS).filter((part) => part !== 'soak'), 3]);
  });

  test('soaks for an hour, or for the given minutes, if the soak is named', () => {
    expect(readOptions(['--only', 'soak']).sizes.soak.minutes).toBe(60);
    const { only, sizes } = readOptions(['--only', 'soak', '--minutes', '2']);
    expect([[...only], sizes.soak.minutes]).toEqual([['soak'], 2]);
  });

  test('is one short pass with --quick', () => {
    const { rounds, sizes } = readOptions(['--quick']);
    expect(rounds).toBe(1);
    expect(sizes.delivery.count).toBeLessThan(readOptions([]).sizes.delivery.count);
  });

  test('takes parts in the order of a run', () =>
    expect(readOptions(['--only', 'singles,bare']).only).toEqual(['bare', 'singles']));

  test('takes a capacity instead of measuring one', () => {
    expect(readOptions(['--capacity', '1500']).sizes.isolation.capacity).toBe(1_500);
  });

  test('runs just isolation or the load curve on all services in one process by --together', () => {
    expect(readOptions(['--together', '--only', 'isolation']).sizes.isolation.together).toBe(true);
    expect(readOptions(['--only', 'isolation']).sizes.isolation.together).toBe(false);
    expect(readOptions(['--together', '--only', 'bare,load']).sizes.load.together).toBe(true);
  });

  test.each([
    [['--together']],
    [['--together', '--only', 'isolation,delivery']],
    [['--together', '--only', 'bare']],
    [['--only', 'speed']],
    [['--fast']],
    [['--rounds', '0']],
    [['--capacity', '-1']],
    [['--minutes', '1.5']],
  ])('refuses %j with the usage', (args) => {
    expect(() => readOptions(args)).toThrow(/Usage: npm run bench/);
  });
});
