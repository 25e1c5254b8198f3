import { mostConnections, SOCKETS } from '../../../services/delivery/tuning';
import { openFilesOf } from '../../../shared/runtime/process-limits';

const GB = 1024 ** 3;

test.each([
  ['much memory and no limit of files: 10,000', 64 * GB, Infinity, 10_000],
  ['512 MB: a sixteenth of it', GB / 2, Infinity, 508],
  ['4,096 open files: the rest of them', 64 * GB, 4_096, 1_896],
  ['fewer files than requests: still a hundred', 64 * GB, 1_024, 100],
])('idle connections with %s', (_, memoryBytes, openFiles, idle) => {
  expect(mostConnections({ memoryBytes, openFiles }) - SOCKETS.total).toBe(idle);
});

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
