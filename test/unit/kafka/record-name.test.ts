import {
  isBehind,
  type Mark,
  markAt,
  markBefore,
  type RecordName,
} from '../../../shared/kafka/record-name';

/** The last record that was read: the hundredth of the third leader. */
const MARK: Mark = [99, 3, 5_000];
const record = (offset: number, epoch: number, timestamp: number): RecordName => ({
  offset,
  epoch,
  timestamp,
});

test.each<[string, RecordName, boolean]>([
  ['the record itself', record(99, 3, 5_000), false],
  ['an older record', record(60, 3, 4_000), false],
  ['an older record of an earlier leader', record(60, 2, 3_000), false],
  ['the next record', record(100, 3, 5_000), true],
  ['the next record by a clock that is behind', record(100, 4, 4_000), true],
  ['a record that a new leader put in an older place', record(60, 4, 6_000), true],
  ['the same by a clock that is behind', record(60, 4, 4_000), true],
  ['a record of a restored copy, in which epochs come again', record(60, 3, 6_000), true],
  ['the same in an earlier epoch', record(60, 2, 6_000), true],
  ['a record in the same place', record(99, 4, 6_000), true],
  ['the first record of a topic that was made again', record(0, 0, 6_000), true],
])('%s: is behind the last one that was read', (_, found, expected) => {
  expect(isBehind(found, MARK)).toBe(expected);
});

test('every record is behind none', () => {
  expect(isBehind(record(0, 0, 0), undefined)).toBe(true);
});

test('a mark keeps the latest time, so records before a clock stepped back count as read', () => {
  const behind = markAt(record(100, 4, 4_000), MARK);
  expect(behind).toEqual([100, 4, 5_000]);
  expect(isBehind(record(99, 3, 5_000), behind)).toBe(false);
});

test('after a cut, only what was appended since is behind the mark', () => {
  const mark = markBefore(60, MARK);
  expect(isBehind(record(59, 3, 4_000), mark)).toBe(false);
  expect(isBehind(record(60, 4, 6_000), mark)).toBe(true);
});
