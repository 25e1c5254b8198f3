import { residents, statusKb } from '../../../tools/bench/memory';
import { usageOf } from '../../../tools/bench/usage';

describe('memory', () => {
  it('is what is resident', () =>
    expect(statusKb('Name:\tnode\nVmPeak:\t  900 kB\nVmRSS:\t  2048 kB\nThreads:\t11\n')).toBe(2048));
  it('is unknown where the system does not tell', () => expect(statusKb('Name:\tnode\n')).toBeNaN());
  it('leaves out what is not on this machine', () => {
    const found = residents({ here: process.pid, elsewhere: 0 });
    expect(Object.keys(found)).toEqual(['here']);
    expect(found.here).toBeGreaterThan(10);
  });
});

describe('usage over some samples', () => {
  const samples = [
    { atMs: 1_000, cpu: { a: 1 }, rss: { a: 100 } },
    { atMs: 2_000, cpu: { a: 1.5 }, rss: { a: 180 } },
    { atMs: 5_000, cpu: { a: 2 }, rss: { a: 120 } },
  ];
  it('is CPU a second, and memory first, last and most', () =>
    expect(usageOf(samples)).toEqual({ a: { cores: 0.25, rssMb: { first: 100, last: 120, most: 180 } } }));
  it('of none is none', () => expect(usageOf([])).toEqual({}));
});
