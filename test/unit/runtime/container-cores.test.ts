import { coresOf, coresOfContainer } from '../../../shared/runtime/container-cores';

test.each([
  ['50000 100000\n', 0.5],
  ['200000 100000\n', 2],
  ['max 100000\n', Infinity],
  ['', Infinity],
])('a limit of %j allows %d cores', (text, cores) => {
  expect(coresOf(text)).toBe(cores);
});

test('without a container all cores may be used', () => {
  expect(coresOfContainer('/nowhere/cpu.max')).toBe(Infinity);
});
