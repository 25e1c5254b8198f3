import { type CoreTimes, shareOfOthers, watchCpuPressure } from '../../../../services/control/history/cpu-pressure';

const times = (all: number, used: number, own: number): CoreTimes => ({ all, used, own });

it.each([
  ['nobody', times(1_000, 0, 0), 0],
  ['others alone', times(1_000, 800, 0), 0.8],
  ['this process alone', times(1_000, 800, 800), 0],
  ['both', times(1_000, 1_000, 300), 0.7],
  // The two clocks tick differently.
  ['this process, counted first', times(1_000, 790, 800), 0],
  ['no time at all', times(0, 0, 0), 0],
])('%s', (_, to, share) => {
  expect(shareOfOthers(times(0, 0, 0), to)).toBeCloseTo(share);
});

it('is asked often, and looks every half second', () => {
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

it('of this machine it can be asked', () => {
  expect(typeof watchCpuPressure()()).toBe('boolean');
});
