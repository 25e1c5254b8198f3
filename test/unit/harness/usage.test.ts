import {
  busySeconds,
  cpuBetween,
  psSeconds,
  statSeconds,
  stolenSeconds,
  residents,
  statusKb,
} from '../../../tools/harness/usage';

describe('CPU time', () => {
  test('CPU time is utime and stime, for any characters in the process name', () => {
    const stat = '4711 (a name) with) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 11 0 12345';
    expect(statSeconds(stat)).toBe(3);
  });

  test.each([
    ['0:01.50', 1.5],
    ['12:00.25', 720.25],
    ['01:00:02', 3602],
  ])('psSeconds reads %s', (text, seconds) => expect(psSeconds(` ${text}\n`)).toBe(seconds));

  test('the CPU time of the machine excludes idle, iowait and steal', () => {
    expect(busySeconds('cpu  100 10 50 9000 700 5 5 999 0 0\ncpu0 1 1 1')).toBe(1.7);
    expect(stolenSeconds('cpu  100 10 50 9000 700 5 5 999 0 0\ncpu0 1 1 1')).toBe(9.99);
  });
});

describe('the CPU use between two readings', () => {
  const from = { atMs: 1_000, byName: { a: 1, b: 2 }, machine: 10, stolen: 1 };

  test('CPU use is given by process, and for all other processes together', () => {
    const use = cpuBetween(from, { atMs: 3_000, byName: { a: 1.5, b: 3 }, machine: 13, stolen: 2 });
    expect(use).toEqual({
      seconds: 2,
      byName: { a: 0.5, b: 1 },
      foreignCores: 0.75,
      stolenCores: 0.5,
    });
  });

  test('CPU use of other processes is never negative, although the counters are coarse', () => {
    expect(
      cpuBetween(from, { atMs: 2_000, byName: { a: 2, b: 2 }, machine: 10.9, stolen: 1 })
        .foreignCores,
    ).toBe(0);
  });

  test('CPU use of other processes is undefined if the system does not report it', () => {
    const use = cpuBetween(
      { ...from, machine: undefined, stolen: undefined },
      { ...from, atMs: 2_000 },
    );
    expect(use.foreignCores).toBeUndefined();
  });
});

describe('memory', () => {
  test('memory is the resident size', () =>
    expect(statusKb('Name:\tnode\nVmPeak:\t  900 kB\nVmRSS:\t  2048 kB\nThreads:\t11\n')).toBe(
      2048,
    ));
  test('memory is NaN if the system does not report it', () =>
    expect(statusKb('Name:\tnode\n')).toBeNaN());
  test('memory omits processes of other machines', () => {
    const found = residents({ here: process.pid, elsewhere: 0 });
    expect(Object.keys(found)).toEqual(['here']);
    expect(found.here).toBeGreaterThan(10);
  });
});
