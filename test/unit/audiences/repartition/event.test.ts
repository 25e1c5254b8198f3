import {
  admit,
  BEGINNING,
  type Cursor,
  decodeEvent,
  encodeEvent,
  type Incoming,
  messagesOrigin,
} from '../../../../services/audiences/repartition/event';
import { type RecordName } from '../../../../shared/kafka/record-name';
import { aRecord } from '../../../support/factories';
import { identify } from '../engine-under-test';

/** Records of `profiles.events` that were copied from a partition of `messages`. */

type Name = [offset: number, epoch: number, timestamp: number];
const nameOf = ([offset, epoch, timestamp]: Name): RecordName => ({ offset, epoch, timestamp });
const copied = (own: Name, from: Name): Incoming => ({
  ...nameOf(own),
  user: 'ann',
  origin: { name: messagesOrigin(0), ...nameOf(from) },
  event: identify({ plan: 'pro' }),
});

/** Returns the offsets, in `profiles.events` and in `messages`, of the records that count. */
function counted(records: readonly Incoming[], from: Cursor = BEGINNING) {
  const { cursor, admitted } = admit(from, records);
  return { cursor, offsets: admitted.map(({ offset, origin }) => [offset, origin!.offset]) };
}

/** Two calls were read. */
const READ = counted([copied([0, 1, 10], [40, 1, 5]), copied([1, 1, 11], [41, 1, 6])]).cursor;

test.each<[string, Incoming[], number[][]]>([
  ['the next call counts', [copied([2, 1, 12], [42, 1, 7])], [[2, 42]]],
  ['a record that is read again does not', [copied([1, 1, 11], [41, 1, 6])], []],
  [
    'nor do calls that a writer repeats after a crash',
    [copied([2, 1, 12], [40, 1, 5]), copied([3, 1, 13], [41, 1, 6])],
    [],
  ],
  [
    'nor those that it repeats after a step back of the clock of `messages`',
    [
      copied([2, 1, 12], [42, 2, 3]),
      copied([3, 1, 13], [41, 1, 6]),
      copied([4, 1, 14], [42, 2, 3]),
    ],
    [[2, 42]],
  ],
  [
    'calls since a cut of `messages` count, below and beyond the old mark',
    [30, 31, 41, 42].map((offset, i) => copied([2 + i, 1, 20 + i], [offset, 2, 15 + i])),
    [
      [2, 30],
      [3, 31],
      [4, 41],
      [5, 42],
    ],
  ],
  [
    'and those are recognised, too, when they are repeated',
    [30, 31, 30, 31, 32].map((offset, i) => copied([2 + i, 1, 20], [offset, 2, offset])),
    [
      [2, 30],
      [3, 31],
      [6, 32],
    ],
  ],
  [
    'calls count after a copy of the cluster was restored, in which epochs come again',
    [copied([2, 1, 20], [30, 1, 15]), copied([3, 1, 21], [31, 1, 16])],
    [
      [2, 30],
      [3, 31],
    ],
  ],
  [
    'calls count after `messages` was made again',
    [copied([2, 1, 20], [0, 0, 15]), copied([3, 1, 21], [1, 0, 16])],
    [
      [2, 0],
      [3, 1],
    ],
  ],
  [
    'calls count after `profiles.events` was cut',
    [copied([1, 2, 20], [42, 1, 7]), copied([2, 2, 21], [43, 1, 8])],
    [
      [1, 42],
      [2, 43],
    ],
  ],
  [
    'calls count after `profiles.events` was made again',
    [copied([0, 0, 20], [42, 1, 7]), copied([1, 0, 21], [43, 1, 8])],
    [
      [0, 42],
      [1, 43],
    ],
  ],
])('%s', (_, records, expected) => {
  expect(counted(records, READ).offsets).toEqual(expected);
});

test('a record names the message that it was made of', () => {
  const origin = { name: 'm3', offset: 40, epoch: 2, timestamp: 1_700_000_000_000 };
  const { value, headers } = encodeEvent(identify({ plan: 'pro' }), { origin });
  const record = aRecord({
    offset: 7,
    epoch: 5,
    timestampMs: 9,
    key: Buffer.from('ann'),
    value: Buffer.from(value),
    headers,
  });
  expect(decodeEvent(record)).toMatchObject({ offset: 7, epoch: 5, timestamp: 9, origin });
});
