import { mostConnections, SOCKETS } from '../../../services/delivery/tuning';

const GB = 1024 ** 3;

test.each([
  ['much memory and no limit of files: 10,000', 64 * GB, Infinity, 10_000],
  ['512 MB: a sixteenth of it', GB / 2, Infinity, 508],
  ['4,096 open files: the rest of them', 64 * GB, 4_096, 1_896],
  ['fewer files than requests: still a hundred', 64 * GB, 1_024, 100],
])('idle connections with %s', (_, memoryBytes, openFiles, idle) => {
  expect(mostConnections({ memoryBytes, openFiles }) - SOCKETS.total).toBe(idle);
});
