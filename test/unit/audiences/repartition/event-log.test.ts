import { encodeEvent, EventLog } from '../../../../services/audiences/repartition/event';
import { type InRecord } from '../../../../shared/kafka/port';
import { identify } from '../engine-under-test';

/** A log of which each fetch returns two records; `bad` ones cannot be decoded. */
function logOf(...kinds: ('good' | 'bad')[]) {
  const records = kinds.map((kind, offset): InRecord => {
    const { value, headers } = encodeEvent(identify({ plan: 'pro' }));
    return {
      topic: 'profiles.events',
      partition: 0,
      offset,
      epoch: 0,
      key: Buffer.from('ann'),
      value: Buffer.from(kind === 'good' ? value : '{'),
      headers,
      timestampMs: 0,
    };
  });
  const read = ({ offset }: { offset: number }) => {
    const found = records.slice(offset, offset + 2);
    return Promise.resolve({
      records: found,
      next: offset + found.length,
      gone: false,
      high: records.length,
    });
  };
  return new EventLog({ read, ranges: () => Promise.resolve([]) } as never, 0);
}

/** Reads as a partition does: on from the last event. */
async function readAll(log: EventLog, end: number): Promise<number[]> {
  const offsets: number[] = [];
  for (let next = 0; offsets.length < 10;) {
    const { records, done } = await log.read(next, end);
    if (done) return offsets;
    offsets.push(...records.map(({ offset }) => offset));
    next = (records.at(-1)?.offset ?? next - 1) + 1;
    if (records.length === 0) throw new Error(`no event from ${next} on, and no end`);
  }
  throw new Error('it reads without end');
}

test('a reader passes unusable events, and reaches the end behind the last one', async () => {
  expect(await readAll(logOf('good', 'bad', 'bad', 'good', 'bad'), 5)).toEqual([0, 3]);
  expect(await readAll(logOf('good', 'bad', 'bad', 'bad', 'bad', 'good'), 6)).toEqual([0, 5]);
  expect(await readAll(logOf('bad'), 1)).toEqual([]);
});

test('a reader of some users gets a piece at a time, also without an event of them', async () => {
  const log = logOf('good', 'good', 'good', 'good');
  expect(await log.read(0, 4, (user) => user === 'bob')).toEqual({
    records: [],
    next: 2,
    done: false,
  });
});
