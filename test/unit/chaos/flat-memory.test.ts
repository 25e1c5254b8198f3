import { growthOf } from '../../../tools/chaos/flat-memory';

const ramp = (from: number, to: number) =>
  Array.from({ length: 30 }, (_, i) => from + ((to - from) * i) / 29);

test.each([
  ['the same all the time', ramp(300, 300), true],
  ['less at the end', ramp(500, 300), true],
  ['a quarter more at the end', ramp(300, 375), true],
  ['twice as much at the end', ramp(300, 600), false],
  ['one high sample', [...ramp(300, 300), 2_000], true],
  ['one low sample at first', [100, ...ramp(300, 300)], true],
  ['too few samples', [300, 300], false],
  ['a sample of a process that ended', Array.from({ length: 9 }, () => NaN), false],
])('%s is flat or not', (_, mb, isFlat) => {
  expect(growthOf(mb).isFlat).toBe(isFlat);
});

test('a small process may grow by as much as a collector leaves', () => {
  expect(growthOf(ramp(100, 180))).toMatchObject({ isFlat: true });
  expect(growthOf(ramp(100, 250))).toMatchObject({ isFlat: false });
});
