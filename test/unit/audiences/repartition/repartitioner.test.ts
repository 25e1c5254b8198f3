import pino from 'pino';
import { Repartitioner } from '../../../../services/audiences/repartition/repartitioner';
import { defined } from '../../../../shared/collections/defined';
import { type Source, type Trust } from '../../../../shared/model/config';
import { type Message, messageHeaders } from '../../../../shared/model/message';
import { type OpenRecord, type OutRecord } from '../../../../shared/kafka/port';

const AT = '2026-11-22T08:00:00.000Z';

/**
 * Returns the records for the partitions of users, made of messages from a source with this trust.
 */
function repartitioned(trust: Trust | undefined, ...messages: Partial<Message>[]): OutRecord[] {
  return repartitionedWith({}, trust, ...messages);
}

function repartitionedWith(
  more: Record<string, string>,
  trust: Trust | undefined,
  ...messages: Partial<Message>[]
): OutRecord[] {
  const sent: OutRecord[] = [];
  const source: Source = {
    id: 'src_1',
    name: 'Site',
    enabled: true,
    writeKeys: [],
    createdAt: AT,
    updatedAt: AT,
    ...defined({ trust }),
  };
  const send = (records: OutRecord[]) => Promise.resolve(void sent.push(...records));
  const repartitioner = new Repartitioner({
    config: { source: () => ({ version: 1, data: source }) },
    producer: { send, pendingBytes: 0, oldestPendingAt: undefined, close: () => Promise.resolve() },
    log: pino({ level: 'silent' }),
    onRoom: () => undefined,
    onFatal: (error) => {
      throw error;
    },
  });
  for (const [offset, part] of messages.entries()) {
    const message = { messageId: `m${offset}`, timestamp: AT, receivedAt: AT, ...part } as Message;
    const headers = messageHeaders('src_1', message, {
      acceptedAtMs: Date.parse(AT),
      traceparent: '',
    });
    const value = Buffer.from(JSON.stringify(message));
    const at = { topic: 'messages', partition: 0, offset, timestampMs: Date.parse(AT), key: null };
    repartitioner.onRecord({
      ...at,
      value,
      headers: { ...headers, ...more },
      done: () => undefined,
    } as unknown as OpenRecord);
  }
  return sent;
}

test('a record of a newer format ends the process, and stays open', () => {
  const done = jest.fn();
  const onFatal = jest.fn();
  const producer = {
    send: () => Promise.resolve(),
    pendingBytes: 0,
    oldestPendingAt: undefined,
    close: () => Promise.resolve(),
  };
  const repartitioner = new Repartitioner({
    config: { source: () => undefined },
    producer,
    log: pino({ level: 'silent' }),
    onRoom: () => undefined,
    onFatal,
  });
  const at = { topic: 'messages', partition: 1, offset: 7, timestampMs: 1, key: null, value: null };
  const record = { ...at, headers: { format: '9' }, done } as unknown as OpenRecord;
  expect([repartitioner.onRecord(record), repartitioner.onRecord(record)]).toEqual([
    'busy',
    'busy',
  ]);
  expect([onFatal.mock.calls, done.mock.calls]).toMatchObject([[[{ code: 'newer_format' }]], []]);
});

const alias = { type: 'alias' as const, previousId: 'ann', userId: 'mallory' };

test.each([
  ['an alias of a server source moves a profile', 'server', alias, ['ann']],
  ['an alias of a source without a trust moves a profile', undefined, alias, ['ann']],
  ['an alias of a browser source moves no profile', 'browser', alias, []],
  [
    'an identify of a browser source is kept',
    'browser',
    { type: 'identify', userId: 'ann', traits: {} },
    ['ann'],
  ],
  [
    'an alias to an id of 513 bytes moves no profile',
    'server',
    { ...alias, userId: 'x'.repeat(513) },
    [],
  ],
  [
    'an id of 513 bytes has no profile',
    'server',
    { type: 'identify', userId: 'x'.repeat(513) },
    [],
  ],
  [
    'an id with half of a surrogate pair has no profile, since UTF-8 has no other name for it than for any other half',
    'server',
    { type: 'identify', userId: 'a\ud800' },
    [],
  ],
  [
    'an alias to an id with half of a surrogate pair moves no profile',
    'server',
    { ...alias, userId: 'a\udfff' },
    [],
  ],
] as const)('%s', (_, trust, message, keys) => {
  expect(repartitioned(trust, message).map(({ key }) => key)).toEqual(keys);
});

test('the value of a definition moves nothing, also after its source was deleted', () => {
  const identify = { type: 'identify' as const, userId: 'ann', traits: { vip: true } };
  expect(repartitionedWith({ definition: 'aud_1' }, undefined, identify)).toEqual([]);
});
