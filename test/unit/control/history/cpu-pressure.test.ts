import {
  type CoreTimes,
  shareOfOthers,
  watchCpuPressure,
} from '../../../../services/control/history/cpu-pressure';

const times = (all: number, used: number, own: number): CoreTimes => ({ all, used, own });

test.each([
  ['0 if no process uses the cores', times(1_000, 0, 0), 0],
  ['the whole use if only others use the cores', times(1_000, 800, 0), 0.8],
  ['0 if only this process uses the cores', times(1_000, 800, 800), 0],
  ['the use without that of this process', times(1_000, 1_000, 300), 0.7],
  // The resolution of the two clocks differs.
  [
    '0 and not negative if the time of this process exceeds that of the machine',
    times(1_000, 790, 800),
    0,
  ],
  ['0 if no time has passed', times(0, 0, 0), 0],
])('the share of other processes is %s', (_, to, share) => {
  expect(shareOfOthers(times(0, 0, 0), to)).toBeCloseTo(share);
});

test('the pressure is measured every half second, however often it is read', () => {
  const machine = { nowMs: 0, times: times(0, 0, 0) };
  const full = watchCpuPressure(
    () => machine.times,
    () => machine.nowMs,
  );
  const after = (ms: number, use: CoreTimes) => {
    machine.nowMs += ms;
    const { all, used, own } = machine.times;
    machine.times = times(all + use.all, used + use.used, own + use.own);
    return full();
  };
  expect(after(100, times(200, 200, 0))).toBe(false);
  expect(after(400, times(800, 800, 0))).toBe(true);
  expect(after(100, times(200, 0, 0))).toBe(true);
  expect(after(400, times(800, 800, 200))).toBe(false);
  expect(after(500, times(1_000, 1_000, 100))).toBe(true);
});

test('the pressure of this machine can be measured', () => {
  expect(typeof watchCpuPressure()()).toBe('boolean');
});
