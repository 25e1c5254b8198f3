import fc from 'fast-check';
import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';
import { Dispatcher } from '../../../../shared/kafka/consumer/dispatcher';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { type OpenRecord, type DispatchResult } from '../../../../shared/kafka/port';

function fetched(from: number, count: number): FetchedRecord[] {
  const batch = { buffer: Buffer.alloc(0), isHidden: false, epoch: 0 };
  return Array.from({ length: count }, (_, i) => new FetchedRecord(batch, 0, from + i, 0));
}

/** Each record takes a millisecond; `turn` runs one turn of the event loop. */
function setUp(answer: (record: OpenRecord) => DispatchResult = () => 'accepted') {
  let nowMs = 0;
  let stopping = false;
  let callbacks: (() => void)[] = [];
  const taken: string[] = [];
  const commands: string[] = [];
  const dispatcher = new Dispatcher({
    onRecord: (record) => {
      nowMs++;
      const result = answer(record);
      if (result === 'accepted') taken.push(`${String(record.partition)}:${String(record.offset)}`);
      return result;
    },
    onResumed: () => commands.push('resumed'),
    mayStart: () => !stopping,
    onFull: ({ number }) => commands.push(`full ${String(number)}`),
    now: () => nowMs,
    soon: (callback) => callbacks.push(callback),
  });
  const turn = () => {
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
    return due.length > 0;
  };
  return { dispatcher, taken, commands, turn, stop: () => (stopping = true) };
}

describe('the time budget of a turn', () => {
  test('dispatching stops after a few milliseconds, and continues in the next turn', () => {
    const { dispatcher, taken, commands, turn } = setUp();
    const partition = new Partition('t', 0, 0);
    dispatcher.dispatch(partition, fetched(0, 12));
    expect(taken).toHaveLength(5);
    expect(partition.waits).toBe(true);
    turn();
    expect(taken).toHaveLength(10);
    expect(commands).toEqual([]);
    turn();
    expect(taken).toHaveLength(12);
    expect(partition.waits).toBe(false);
    expect(commands.at(-1)).toBe('resumed');
    // No work is left, so no further turn is scheduled.
    while (turn());
    expect(taken).toHaveLength(12);
  });

  test('the partitions of a fetch share the time budget of a turn, one after the other', () => {
    const { dispatcher, taken, turn } = setUp();
    const [a, b] = [new Partition('t', 0, 0), new Partition('t', 1, 0)];
    dispatcher.dispatch(a, fetched(0, 7));
    dispatcher.dispatch(b, fetched(0, 7));
    expect(taken).toEqual(['0:0', '0:1', '0:2', '0:3', '0:4']);
    turn();
    expect(taken.slice(5)).toEqual(['0:5', '0:6', '1:0', '1:1', '1:2']);
    turn();
    expect(taken).toHaveLength(14);
  });

  test('the next turn skips a discarded buffer, and does not dispatch after a stop', () => {
    const { dispatcher, taken, turn, stop } = setUp();
    const [a, b] = [new Partition('t', 0, 0), new Partition('t', 1, 0)];
    dispatcher.dispatch(a, fetched(0, 7));
    a.discardBuffered();
    turn();
    expect(taken).toHaveLength(5);
    dispatcher.dispatch(b, fetched(0, 7));
    stop();
    while (turn());
    expect(taken).toHaveLength(10);
  });
});

test('a refused record is buffered, and offered again before those behind it', () => {
  let full = true;
  const { dispatcher, taken, commands, turn } = setUp(({ offset }) =>
    full && offset === 2 ? 'busy' : 'accepted',
  );
  const partition = new Partition('t', 0, 0);
  dispatcher.dispatch(partition, fetched(0, 4));
  while (turn());
  expect(taken).toEqual(['0:0', '0:1']);
  expect([partition.waits, commands]).toEqual([true, []]);
  full = false;
  dispatcher.dispatchBuffered(partition);
  expect(taken).toEqual(['0:0', '0:1', '0:2', '0:3']);
  expect(commands.at(-1)).toBe('resumed');
});

describe('a partition with a deferred record', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('a partition stops a million offsets after a deferred record, until that is done', () => {
    const { dispatcher, taken, commands } = setUp();
    const partition = new Partition('t', 0, 0);
    partition.offsets.take(0);
    partition.offsets.release(0);
    partition.offsets.take(999_998);
    dispatcher.dispatch(partition, fetched(999_999, 1));
    expect(taken).toEqual(['0:999999']);

    for (let again = 0; again < 3; again++) {
      dispatcher.dispatch(partition, fetched(1_000_000, 2));
      jest.advanceTimersByTime(1_000);
      expect([taken.length, partition.waits]).toEqual([1, true]);
      partition.discardBuffered();
    }
    expect(commands.filter((command) => command === 'full 0')).toHaveLength(1);

    dispatcher.dispatch(partition, fetched(1_000_000, 2));
    partition.offsets.take(0);
    partition.offsets.done(0);
    jest.advanceTimersByTime(1_000);
    expect([taken, partition.waits]).toEqual([['0:999999', '0:1000000', '0:1000001'], false]);
    expect(commands.at(-1)).toBe('resumed');
  });

  test('a partition that is full of deferred records takes these again', () => {
    const { dispatcher, taken } = setUp();
    const partition = new Partition('t', 0, 0);
    partition.offsets.take(0);
    partition.offsets.release(0);
    partition.offsets.take(1_000_000);
    dispatcher.dispatch(partition, fetched(0, 2));
    expect(taken).toEqual(['0:0']);
  });
});

test('each record is accepted once and in order, however the handler refuses or delays', () => {
  const counts = fc.array(fc.nat(40), { minLength: 1, maxLength: 5 });
  const refusals = fc.array(fc.boolean(), { maxLength: 60 });
  fc.assert(
    fc.property(counts, refusals, (sizes, refused) => {
      const answers = [...refused];
      const { dispatcher, taken, turn } = setUp(() =>
        answers.shift() === true ? 'busy' : 'accepted',
      );
      const partitions = sizes.map((_, number) => new Partition('t', number, 0));
      partitions.forEach((partition, i) =>
        dispatcher.dispatch(partition, fetched(0, sizes[i] ?? 0)),
      );
      for (let round = 0; round < 400; round++) {
        // Refused records are offered again, as when the handler has room.
        if (!turn()) for (const partition of partitions) dispatcher.dispatchBuffered(partition);
      }
      for (const [number, size] of sizes.entries()) {
        const own = taken.filter((name) => name.startsWith(`${String(number)}:`));
        expect(own).toEqual(
          fetched(0, size).map(({ offset }) => `${String(number)}:${String(offset)}`),
        );
      }
    }),
  );
});
