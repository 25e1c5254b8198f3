import { median, percentile, ratio, readable, spread } from '../../../tools/bench/arithmetic';

describe('median', () => {
  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 2, 3], 2.5],
    [[7], 7],
    [[], NaN],
  ])('of %j is %d', (values, expected) => expect(median(values)).toBe(expected));
});

describe('percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  test.each([
    [hundred, 0.5, 50],
    [hundred, 0.99, 99],
    [hundred, 1, 100],
    [[5], 0.99, 5],
    [[], 0.5, NaN],
  ])('a percentile is a measured value', (values, share, expected) =>
    expect(percentile(values, share)).toBe(expected),
  );
});

describe('spread', () => {
  test('spread skips rounds without a measurement', () =>
    expect(spread([2, undefined, 9, 4])).toEqual({ median: 4, min: 2, max: 9, rounds: 3 }));
  test('spread is undefined without a measurement', () =>
    expect(spread([undefined])).toBeUndefined());
});

describe('ratio', () => {
  test.each([
    [30, 20, 1.5],
    [undefined, 20, undefined],
    [30, undefined, undefined],
    [30, 0, undefined],
  ])('of %p to %p is %p', (value, yardstick, expected) =>
    expect(ratio(value, yardstick)).toBe(expected),
  );
});

describe('readable', () => {
  test.each([
    [0.02341, '0.0234'],
    [0.15, '0.150'],
    [1.046, '1.05'],
    [12.34, '12.3'],
    [123.4, '123'],
    [5120.4, '5,120'],
    [0, '0'],
    [NaN, '-'],
  ])('shows %d as %s', (value, text) => expect(readable(value)).toBe(text));
});
