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
const part = (from: number, to: number, bytes = 0, more: Partial<SizedPartition> = {}): SizedPartition => ({
  ...{ name: `p${from}`, from, to, bytes, rowBytes: bytes / 2, indexed: true },
  ...more,
});
const names = (parts: SizedPartition[]) => parts.map(({ name }) => name);

describe('a new part', () => {
  it.each<[string, SizedPartition[], number, [from: number, to: number]]>([
    ['covers the day', [], DAY + HOUR, [DAY, 2 * DAY]],
    ['begins where the one before was ended', [part(DAY, DAY + 2 * HOUR)], DAY + 3 * HOUR, [DAY + 2 * HOUR, 2 * DAY]],
    ['ends where the next one begins', [part(DAY + 5 * HOUR, 2 * DAY)], DAY + HOUR, [DAY, DAY + 5 * HOUR]],
    [
      'fills a gap between two',
      [part(DAY, DAY + HOUR), part(DAY + 3 * HOUR, 2 * DAY)],
      DAY + 2 * HOUR,
      [DAY + HOUR, DAY + 3 * HOUR],
    ],
    ['does not heed other days', [part(0, HOUR), part(3 * DAY, 4 * DAY)], DAY, [DAY, 2 * DAY]],
  ])('%s', (_, parts, at, [from, to]) => {
    const made = newPart(parts, at);
    expect([made.from, made.to]).toEqual([from, to]);
    expect(partOf([...parts, made], at)).toBe(made);
  });
});

describe('what is dropped', () => {
  const parts = [part(2 * DAY, 3 * DAY, 30), part(0, DAY, 10), part(DAY, 2 * DAY, 20)];
  it.each<[string, { sinceMs: number; maxBytes: number }, string[]]>([
    ['nothing, where there is time and room', { sinceMs: 0, maxBytes: 60 }, []],
    ['what is wholly too old', { sinceMs: DAY, maxBytes: 1_000 }, ['p0']],
    ['not what is too old in part', { sinceMs: DAY - 1, maxBytes: 1_000 }, []],
    ['the oldest, until the rest has room', { sinceMs: 0, maxBytes: 55 }, ['p0']],
    ['several', { sinceMs: 0, maxBytes: 30 }, ['p0', `p${DAY}`]],
    ['never the last for its size', { sinceMs: 0, maxBytes: 1 }, ['p0', `p${DAY}`]],
    ['the last for its age', { sinceMs: 9 * DAY, maxBytes: 1_000 }, ['p0', `p${DAY}`, `p${2 * DAY}`]],
  ])('%s', (_, keep, names) => {
    expect(partsToDrop(parts, keep).map(({ name }) => name)).toEqual(names);
  });
});

it('ends the newest part early when it has had its share', () => {
  const parts = [part(DAY, 2 * DAY, 101), part(0, DAY, 900)];
  expect(names(partsToEnd(parts, { maxBytes: 1_600 }))).toEqual([`p${DAY}`]);
  expect(partsToEnd(parts, { maxBytes: 1_616 })).toEqual([]);
  expect(partsToEnd([], { maxBytes: 1 })).toEqual([]);
});

it('ends each part that is full without indexes', () => {
  const plain = { indexed: false, rowBytes: 32 * MB };
  const parts = [
    part(0, DAY, 0, plain),
    part(DAY, 2 * DAY, 0, { ...plain, rowBytes: 31 * MB }),
    part(2 * DAY, 3 * DAY),
  ];
  expect(names(partsToEnd(parts, { maxBytes: 1e12 }))).toEqual(['p0']);
  expect(partsToEnd([part(0, DAY, 0, { ...plain, indexed: true })], { maxBytes: 1e12 })).toEqual([]);
});

describe('indexes are made', () => {
  const plain = { indexed: false, rowBytes: MB };
  const over = part(0, DAY, 0, plain);
  it.each<[string, SizedPartition, string[], boolean]>([
    ['when the time of a part is over', over, [], true],
    ['not while it grows', part(DAY, 2 * DAY, 0, plain), [], false],
    ['not while who catches up writes into it', over, ['p0'], false],
    ['when it is full, whoever writes', { ...over, rowBytes: 32 * MB }, ['p0'], true],
    ['once', part(0, DAY), [], false],
  ])('%s', (_, each, written, made) => {
    const found = partsToIndex([each], { nowMs: DAY + HOUR, written: new Map(written.map((name) => [name, 0])) });
    expect(names(found)).toEqual(made ? [each.name] : []);
  });
});
