import { mostConnections } from '../../../services/delivery/tuning';
import { budgetsOf } from '../../../services/ingest/admission';
import { coresOf, limitsOfService, openFilesOf } from '../../../shared/runtime/process-limits';

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

/** Most connections of ingest and delivery, and the files that they leave to all else. */
function connectionsOf(openFiles: number, isShared: boolean) {
  const ofProcess = { memoryBytes: 4e9, openFiles, cores: 2 };
  const limits = limitsOfService(ofProcess, isShared);
  const { connections: ingest } = budgetsOf({ limit: 4e9, heap: 2e9, openFiles: limits.openFiles });
  const delivery = mostConnections(limits);
  return { ingest, delivery, rest: openFiles - ingest - delivery };
}

test('in one process, clients of ingest leave files to delivery, and both some to brokers', () => {
  expect(connectionsOf(4_096, true)).toEqual({ ingest: 1_165, delivery: 2_100, rest: 831 });
  expect(connectionsOf(20_000, true).rest).toBeGreaterThanOrEqual(20_000 / 3);
  expect(connectionsOf(1_048_576, true)).toMatchObject(connectionsOf(1_048_576, false));
});

test('each in a process of its own has nearly all files', () => {
  expect(connectionsOf(4_096, false)).toMatchObject({ ingest: 3_896, delivery: 3_896 });
});

test.each([
  ['50000 100000\n', 0.5],
  ['200000 100000\n', 2],
  ['max 100000\n', Infinity],
  ['', Infinity],
])('a limit of %j allows %d cores', (text, cores) => {
  expect(coresOf(text)).toBe(cores);
});
