import { PARTS, readOptions } from '../../../bench/options';

describe('the command line', () => {
  it('measures everything three times by default', () => {
    const { only, rounds, quick } = readOptions([]);
    expect([[...only], rounds, quick]).toEqual([[...PARTS], 3, false]);
  });

  it('is one short pass with --quick', () => {
    const { rounds, sizes } = readOptions(['--quick']);
    expect(rounds).toBe(1);
    expect(sizes.delivery.count).toBeLessThan(readOptions([]).sizes.delivery.count);
  });

  it('takes parts, and pipeline for both loops', () => {
    expect([...readOptions(['--only', 'bare,pipeline']).only]).toEqual(['bare', 'batches', 'singles']);
  });

  it.each([[['--only', 'speed']], [['--fast']], [['--rounds', '0']]])('refuses %j with the usage', (args) => {
    expect(() => readOptions(args)).toThrow(/Usage: npm run bench/);
  });
});
