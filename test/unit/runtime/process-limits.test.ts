import { coresOf, openFilesOf } from '../../../shared/runtime/process-limits';

test('the limit of open files is read from the limits of the process', () => {
  const limits =
    'Limit  Soft Limit  Hard Limit  Units\nMax open files            1048576              ' +
    '1048576              files\n';
  expect(openFilesOf(limits)).toBe(1_048_576);
  expect(
    openFilesOf('Max open files            unlimited            unlimited            files\n'),
  ).toBe(Infinity);
  expect(openFilesOf('')).toBe(Infinity);
});

test.each([
  ['50000 100000\n', 0.5],
  ['200000 100000\n', 2],
  ['max 100000\n', Infinity],
  ['', Infinity],
])('a limit of %j allows %d cores', (text, cores) => {
  expect(coresOf(text)).toBe(cores);
});
