import { CountedCalls } from '../../../../services/audiences/profiles/counted-calls';
import {
  decodeEvent,
  encodeEvent,
  type Incoming,
} from '../../../../services/audiences/repartition/event';
import { defined } from '../../../../shared/collections/defined';
import { type ReadAt } from '../../../../shared/kafka/port';
import { callHash } from '../../../../shared/model/dedup-window';

const HOUR_MS = 3_600_000;

/**
 * Returns a record of `profiles.events` as read, for a call with this message id or from a version
 * that stored no call.
 */
function incoming(offset: number, messageId: string | undefined, atMs = 0): Incoming {
  const call = messageId === undefined ? undefined : callHash('src_1', messageId);
  const { value, headers } = encodeEvent(
    { kind: 'alias', to: 'b' },
    { origin: { name: 'm0', offset, epoch: 0, timestamp: atMs }, ...defined({ call }) },
  );
  const at = {
    topic: 'profiles.events',
    partition: 3,
    offset,
    epoch: 0,
    timestampMs: atMs,
    key: Buffer.from('ann'),
  };
  return decodeEvent({ ...at, value: Buffer.from(value), headers })!;
}

test.each([
  ['two calls are counted', [incoming(5, 'a'), incoming(6, 'b')], [5, 6]],
  [
    'a duplicate call is not counted',
    [incoming(5, 'a'), incoming(6, 'b'), incoming(9, 'a')],
    [5, 6],
  ],
  [
    'a call that is read again after a crash is counted again',
    [incoming(5, 'a'), incoming(5, 'a')],
    [5, 5],
  ],
  [
    'a duplicate call is skipped also when it is read again',
    [incoming(5, 'a'), incoming(9, 'a'), incoming(9, 'a')],
    [5],
  ],
  [
    'records that come from no call are all counted',
    [incoming(5, undefined), incoming(6, undefined)],
    [5, 6],
  ],
  ['a duplicate call an hour later is skipped', [incoming(5, 'a'), incoming(6, 'a', HOUR_MS)], [5]],
  [
    'a duplicate call after more than an hour is counted',
    [incoming(5, 'a'), incoming(6, 'a', HOUR_MS + 2_000)],
    [5, 6],
  ],
])('%s', (_, records, counted) => {
  expect(new CountedCalls().withoutCopies(records).map(({ offset }) => offset)).toEqual(counted);
});

test('reading back the calls stops when the partition is lost', async () => {
  const read: number[] = [];
  const kafka = {
    ranges: () => Promise.resolve([{ partition: 3, low: 0, high: 10 }]),
    read: ({ offset }: ReadAt) => {
      read.push(offset);
      return Promise.resolve({ records: [], next: offset + 1, end: 10, gone: false, era: '' });
    },
  };
  const isLost = () => read.length === 2;
  await new CountedCalls().recall(kafka, { partition: 3, before: 10, nowMs: HOUR_MS, isLost });
  expect(read).toEqual([0, 1]);
});
