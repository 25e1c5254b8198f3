import fc from 'fast-check';
import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';
import { Dispatcher } from '../../../../shared/kafka/consumer/dispatcher';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { type OpenRecord, type DispatchResult } from '../../../../shared/kafka/port';

function fetched(from: number, count: number): FetchedRecord[] {
  const batch = { buffer: Buffer.alloc(0), isControl: false, context: undefined as never };
  return Array.from({ length: count }, (_, i) => new FetchedRecord(batch, 0, from + i, 0));
}

/** Each record takes a millisecond; `turn` lets the event loop go round once. */
function setUp(answer: (record: OpenRecord) => DispatchResult = () => 'accepted') {
  let nowMs = 0;
  let stopping = false;
  let callbacks: (() => void)[] = [];
  const taken: string[] = [];
  const told: string[] = [];
  const offers = new Dispatcher({
    onRecord: (record) => {
      nowMs++;
      const verdict = answer(record);
      if (verdict === 'accepted') taken.push(`${String(record.partition)}:${String(record.offset)}`);
      return verdict;
    },
    tell: (what, { number }) => told.push(`${what} ${String(number)}`),
    stopping: () => stopping,
    now: () => nowMs,
    soon: (callback) => callbacks.push(callback),
  });
  const turn = () => {
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
    return due.length > 0;
  };
  return { offers, taken, told, turn, stop: () => (stopping = true) };
}

describe('a turn of the event loop', () => {
  test('is left after a few milliseconds, and gone on with in the next', () => {
    const { offers, taken, told, turn } = setUp();
    const partition = new Partition('t', 0, 0);
    offers.dispatch(partition, fetched(0, 12));
    expect(taken).toHaveLength(5);
    expect(partition.waits).toBe(true);
    turn();
    expect(taken).toHaveLength(10);
    expect(told.at(-1)).toBe('pause 0');
    turn();
    expect(taken).toHaveLength(12);
    expect(partition.waits).toBe(false);
    expect(told.at(-1)).toBe('resume 0');
    // Nothing is left to do: the loop comes to rest.
    while (turn());
    expect(taken).toHaveLength(12);
  });

  test('is shared by the partitions of a fetch, and each comes in turn', () => {
    const { offers, taken, turn } = setUp();
    const [a, b] = [new Partition('t', 0, 0), new Partition('t', 1, 0)];
    offers.dispatch(a, fetched(0, 7));
    offers.dispatch(b, fetched(0, 7));
    expect(taken).toEqual(['0:0', '0:1', '0:2', '0:3', '0:4']);
    turn();
    expect(taken.slice(5)).toEqual(['0:5', '0:6', '1:0', '1:1', '1:2']);
    turn();
    expect(taken).toHaveLength(14);
  });

  test('that was to come is not for a partition that was put down, or when all stops', () => {
    const { offers, taken, turn, stop } = setUp();
    const [a, b] = [new Partition('t', 0, 0), new Partition('t', 1, 0)];
    offers.dispatch(a, fetched(0, 7));
    a.discardBuffered();
    turn();
    expect(taken).toHaveLength(5);
    offers.dispatch(b, fetched(0, 7));
    stop();
    while (turn());
    expect(taken).toHaveLength(10);
  });
});

test('what is refused is kept, and offered again before what follows it', () => {
  let full = true;
  const { offers, taken, told, turn } = setUp(({ offset }) => (full && offset === 2 ? 'busy' : 'accepted'));
  const partition = new Partition('t', 0, 0);
  offers.dispatch(partition, fetched(0, 4));
  while (turn());
  expect(taken).toEqual(['0:0', '0:1']);
  expect(told).toEqual(['pause 0']);
  full = false;
  offers.dispatchBuffered(partition);
  expect(taken).toEqual(['0:0', '0:1', '0:2', '0:3']);
  expect(told.at(-1)).toBe('resume 0');
});

test('whatever is refused and however long it takes, each record is taken once, in order', () => {
  const counts = fc.array(fc.nat(40), { minLength: 1, maxLength: 5 });
  const refusals = fc.array(fc.boolean(), { maxLength: 60 });
  fc.assert(
    fc.property(counts, refusals, (sizes, refused) => {
      const answers = [...refused];
      const { offers, taken, turn } = setUp(() => (answers.shift() === true ? 'busy' : 'accepted'));
      const partitions = sizes.map((_, number) => new Partition('t', number, 0));
      partitions.forEach((partition, i) => offers.dispatch(partition, fetched(0, sizes[i] ?? 0)));
      for (let round = 0; round < 400; round++) {
        // What was refused is offered again from outside, as when there is room.
        if (!turn()) for (const partition of partitions) offers.dispatchBuffered(partition);
      }
      for (const [number, size] of sizes.entries()) {
        const own = taken.filter((name) => name.startsWith(`${String(number)}:`));
        expect(own).toEqual(fetched(0, size).map(({ offset }) => `${String(number)}:${String(offset)}`));
      }
    }),
  );
});
