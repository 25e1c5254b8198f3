import {
  type CommitNote,
  decodeNote,
  encodeNote,
  MOST_NOTE_BYTES,
} from '../../../../shared/kafka/consumer/commit-note';
import { Position } from '../../../../shared/kafka/consumer/position';
import { type RecordName } from '../../../../shared/kafka/record-name';

const name = (offset: number, epoch = 2, timestamp = 1_000): RecordName => ({
  offset,
  epoch,
  timestamp,
});

describe('a position with the name of the record before it', () => {
  test('begins its first fetch at that record, and goes on behind it', () => {
    const position = new Position(8, name(7));
    expect([position.fetchFrom, position.expectsRecord]).toEqual([7, true]);
    expect(position.compare(name(7))).toBe(true);
    expect([position.fetchFrom, position.expectsRecord]).toEqual([8, false]);
  });

  test.each<[string, RecordName]>([
    ['of a later epoch', name(7, 3)],
    ['of an earlier epoch', name(7, 1)],
    ['that was appended later, in an epoch that came again', name(7, 2, 1_001)],
    ['that was appended earlier', name(7, 2, 999)],
  ])('notices another record in its place, %s', (_, found) => {
    expect(new Position(8, name(7)).compare(found)).toBe(false);
  });

  test('compares the newest record, although it reads older ones again', () => {
    const position = new Position(10);
    position.read(name(19), 20);
    position.goBack(12);
    position.doubt();
    expect(position.fetchFrom).toBe(19);
    expect(position.compare(name(19, 3))).toBe(false);
    expect(position.compare(name(19))).toBe(true);
    expect(position.fetchFrom).toBe(12);
  });
});

test('a position without a name learns it from the record before it', () => {
  const position = new Position(8);
  expect([position.fetchFrom, position.isNamed]).toEqual([7, false]);
  expect(position.compare(name(7))).toBe(true);
  expect([position.fetchFrom, position.last, position.isNamed]).toEqual([8, name(7), true]);
});

test('a position at the start of a log has nothing to compare', () => {
  const position = new Position(0);
  expect([position.fetchFrom, position.expectsRecord]).toEqual([0, false]);
  expect(position.compare(name(0))).toBe(true);
  expect(position.last).toBeUndefined();
});

test.each<[string, (position: Position) => void, boolean]>([
  ['another epoch of the leader', (at) => at.askFrom({ topicId: 'a', epoch: 2 }), false],
  ['a topic that was made again', (at) => at.askFrom({ topicId: 'b', epoch: 1 }), false],
  ['a new connection', (at) => at.doubt(), false],
  ['the same leader', (at) => at.askFrom({ topicId: 'a', epoch: 1 }), true],
])('after %s the position is proven: %p', (_, happens, isProven) => {
  const position = new Position(8, name(7));
  position.askFrom({ topicId: 'a', epoch: 1 });
  position.compare(name(7));
  happens(position);
  expect(position.isProven).toBe(isProven);
});

describe('retention', () => {
  test('that deleted the record to compare leaves nothing to compare', () => {
    const position = new Position(8, name(7));
    position.skipTo(8);
    expect([position.isProven, position.fetchFrom]).toEqual([true, 8]);
    const behind = new Position(8, name(7));
    behind.skipTo(20);
    expect([behind.isProven, behind.fetchFrom]).toEqual([true, 20]);
  });

  test('that deleted only older records leaves the newest one to compare', () => {
    const position = new Position(3, name(7));
    position.skipTo(5);
    expect([position.isProven, position.fetchFrom, position.next]).toEqual([false, 7, 5]);
  });
});

describe('a position after a cut', () => {
  // The newest record that was read was cut off, as were all from offset 5 on.
  const afterCut = () => Position.afterCut(5, name(9, 2, 1_000));

  test('learns the name of the record before it', () => {
    const position = afterCut();
    expect([position.fetchFrom, position.isNamed]).toEqual([4, false]);
    expect(position.compare(name(4, 1, 800))).toBe(true);
    expect([position.last, position.isNamed]).toEqual([name(4, 1, 800), true]);
  });

  test('notices a second cut before that', () => {
    expect(afterCut().compare(name(4, 2, 1_001))).toBe(false);
    expect(afterCut().compare(name(4, 3, 900))).toBe(false);
  });

  test('at the start of the log has nothing to compare', () => {
    const position = Position.afterCut(0, name(9));
    expect([position.fetchFrom, position.expectsRecord]).toEqual([0, false]);
    expect(position.compare(name(0, 5, 5_000))).toBe(true);
    expect(position.last).toBeUndefined();
  });
});

describe('the note in a commit', () => {
  const note = { owner: 3_000_000_000, last: name(107, 4, 1_790_000_000_123), runs: [2, 1, 3, 2] };

  const readBack = (given: CommitNote) => decodeNote(100, encodeNote(100, given, MOST_NOTE_BYTES));

  test('names the newest record, the owner and the records done above the offset', () => {
    expect(readBack(note)).toEqual(note);
    const atEnd = { ...note, last: name(99, 0, 0), runs: [] };
    expect(readBack(atEnd)).toEqual(atEnd);
    const unnamed = { ...note, last: undefined };
    expect(readBack(unnamed)).toEqual(unnamed);
  });

  test.each(['', 'r1.AQE', 'by an operator', 'p1.', 'p2.AQEB', 'p1.!!'])(
    'is empty for other metadata: %p',
    (text) => {
      expect(decodeNote(100, text)).toEqual({ owner: 0, last: undefined, runs: [] });
    },
  );
});
