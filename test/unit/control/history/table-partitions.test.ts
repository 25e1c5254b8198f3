import {
  newPart,
  partOf,
  partsToDrop,
  partsToEnd,
  partsToIndex,
  type SizedPartition,
} from '../../../../services/control/history/table-partitions';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const MB = 1024 * 1024;
const part = (
  from: number,
  to: number,
  bytes = 0,
  more: Partial<SizedPartition> = {},
): SizedPartition => ({
  name: `p${from}`,
  from,
  to,
  bytes,
  rowBytes: bytes / 2,
  indexed: true,
  isEnding: false,
  ...more,
});
const names = (parts: SizedPartition[]) => parts.map(({ name }) => name);

describe('a new partition', () => {
  test.each<[string, SizedPartition[], number, [from: number, to: number]]>([
    ['covers the day', [], DAY + HOUR, [DAY, 2 * DAY]],
    [
      'begins at the early end of the one before',
      [part(DAY, DAY + 2 * HOUR)],
      DAY + 3 * HOUR,
      [DAY + 2 * HOUR, 2 * DAY],
    ],
    [
      'ends where the next one begins',
      [part(DAY + 5 * HOUR, 2 * DAY)],
      DAY + HOUR,
      [DAY, DAY + 5 * HOUR],
    ],
    [
      'fills a gap between two others',
      [part(DAY, DAY + HOUR), part(DAY + 3 * HOUR, 2 * DAY)],
      DAY + 2 * HOUR,
      [DAY + HOUR, DAY + 3 * HOUR],
    ],
    ['ignores other days', [part(0, HOUR), part(3 * DAY, 4 * DAY)], DAY, [DAY, 2 * DAY]],
  ])('a new partition %s', (_, parts, at, [from, to]) => {
    const made = newPart(parts, at);
    expect([made.from, made.to]).toEqual([from, to]);
    expect(partOf([...parts, made], at)).toBe(made);
  });
});

describe('dropping', () => {
  const parts = [part(2 * DAY, 3 * DAY, 30), part(0, DAY, 10), part(DAY, 2 * DAY, 20)];
  test.each<[string, { sinceMs: number; maxBytes: number }, string[]]>([
    ['none, if there is time and space', { sinceMs: 0, maxBytes: 60 }, []],
    ['those that are wholly too old', { sinceMs: DAY, maxBytes: 1_000 }, ['p0']],
    ['none that is only partly too old', { sinceMs: DAY - 1, maxBytes: 1_000 }, []],
    ['the oldest, until the rest has space', { sinceMs: 0, maxBytes: 55 }, ['p0']],
    ['several too old ones', { sinceMs: 0, maxBytes: 30 }, ['p0', `p${DAY}`]],
    ['all but the last because of size', { sinceMs: 0, maxBytes: 1 }, ['p0', `p${DAY}`]],
    [
      'also the last because of age',
      { sinceMs: 9 * DAY, maxBytes: 1_000 },
      ['p0', `p${DAY}`, `p${2 * DAY}`],
    ],
  ])('these partitions are dropped: %s', (_, keep, names) => {
    expect(partsToDrop(parts, keep).map(({ name }) => name)).toEqual(names);
  });
});

test('the newest partition ends early once it has its share', () => {
  const parts = [part(DAY, 2 * DAY, 101), part(0, DAY, 900)];
  expect(names(partsToEnd(parts, { maxBytes: 1_600 }))).toEqual([`p${DAY}`]);
  expect(partsToEnd(parts, { maxBytes: 1_616 })).toEqual([]);
  expect(partsToEnd([], { maxBytes: 1 })).toEqual([]);
});

test('each full partition without indexes ends early', () => {
  const plain = { indexed: false, rowBytes: 32 * MB };
  const parts = [
    part(0, DAY, 0, plain),
    part(DAY, 2 * DAY, 0, { ...plain, rowBytes: 31 * MB }),
    part(2 * DAY, 3 * DAY),
  ];
  expect(names(partsToEnd(parts, { maxBytes: 1e12 }))).toEqual(['p0']);
  expect(partsToEnd([part(0, DAY, 0, { ...plain, indexed: true })], { maxBytes: 1e12 })).toEqual(
    [],
  );
});

test('a partition that is ending is checked again, also if it has its share no more', () => {
  const parts = [part(0, HOUR, 1, { isEnding: true }), part(DAY, 2 * DAY, 1)];
  expect(names(partsToEnd(parts, { maxBytes: 1e12 }))).toEqual(['p0']);
});

describe('indexing', () => {
  const plain = { indexed: false, rowBytes: MB };
  const over = part(0, DAY, 0, plain);
  test.each<[string, SizedPartition, string[], boolean]>([
    ['when its time is over', over, [], true],
    ['not while it grows', part(DAY, 2 * DAY, 0, plain), [], false],
    ['not while a process that catches up writes to it', over, ['p0'], false],
    ['when it is full, even while it is written to', { ...over, rowBytes: 32 * MB }, ['p0'], true],
    ['only once', part(0, DAY), [], false],
  ])('a partition is indexed %s', (_, each, written, made) => {
    const found = partsToIndex([each], {
      nowMs: DAY + HOUR,
      written: new Map(written.map((name) => [name, 0])),
    });
    expect(names(found)).toEqual(made ? [each.name] : []);
  });
});
