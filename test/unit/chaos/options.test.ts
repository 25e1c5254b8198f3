import { readOptions } from '../../../tools/chaos/options';

const read = (...args: string[]) => readOptions(args, () => 99);

describe('the command line', () => {
  test('defaults to five minutes on one broker with a new seed', () => {
    expect(read()).toMatchObject({
      seed: 99,
      forMs: 300_000,
      brokers: 1,
      together: false,
      perSecond: 200,
      keep: false,
    });
  });

  test('sets every option', () => {
    expect(
      read('--minutes', '0.5', '--seed', '4', '--brokers', '3', '--rate', '50', '--together'),
    ).toMatchObject({
      seed: 4,
      forMs: 30_000,
      brokers: 3,
      together: true,
      perSecond: 50,
    });
  });

  test.each([
    [['--brokers', '2']],
    [['--minutes', 'long']],
    [['--seed', '-1']],
    [['--rate', '0']],
    [['--what']],
  ])('refuses %j with the usage', (args) => {
    expect(() => read(...args)).toThrow('Usage: node dist/tools/chaos/main.js');
  });
});
