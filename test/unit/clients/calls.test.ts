import fc from 'fast-check';
import {
  type Calls,
  type CallType,
  InvalidCallError,
  toMessage,
} from '../../../clients/node/src/calls';
import { uuidOf } from '../../../clients/node/src/id';
import { toBody, toQueued, utf8Length } from '../../../clients/node/src/message';
import { parseBody, validateCalls } from '../../../services/ingest/calls/validate-request';
import { finish } from '../../../services/ingest/calls/steps';
import { anyText } from '../../support/any-text';

const NOW = Date.parse('2026-11-21T08:19:06.123Z');
const made = (type: CallType, call: unknown) =>
  toMessage(type, call as Calls[CallType], NOW, () => 'made');

describe('a call becomes a message', () => {
  const live = { messageId: 'made', originalTimestamp: '2026-11-21T08:19:06.123Z' };
  test.each<[string, CallType, object, object]>([
    [
      'identify',
      'identify',
      { userId: 'u', traits: { a: 1 } },
      { ...live, userId: 'u', traits: { a: 1 } },
    ],
    [
      'track',
      'track',
      { anonymousId: 'a', event: 'E', properties: {} },
      { ...live, anonymousId: 'a', event: 'E', properties: {} },
    ],
    [
      'page',
      'page',
      { userId: 'u', name: 'N', category: 'C' },
      { ...live, userId: 'u', name: 'N', category: 'C' },
    ],
    ['screen', 'screen', { userId: 'u' }, { ...live, userId: 'u' }],
    ['group', 'group', { userId: 'u', groupId: 7 }, { ...live, userId: 'u', groupId: '7' }],
    ['alias', 'alias', { userId: 'u', previousId: 'p' }, { ...live, userId: 'u', previousId: 'p' }],
    ['ids that are numbers', 'page', { userId: 42 }, { ...live, userId: '42' }],
    [
      'null and undefined are absent',
      'page',
      { userId: 'u', anonymousId: null, name: undefined },
      { ...live, userId: 'u' },
    ],
    [
      'an id of its own',
      'page',
      { userId: 'u', messageId: 'mine' },
      { ...live, messageId: 'mine', userId: 'u' },
    ],
    [
      'integrations at the top',
      'page',
      { userId: 'u', integrations: { All: false } },
      { ...live, userId: 'u', integrations: { All: false } },
    ],
    ['fields that nobody knows', 'page', { userId: 'u', nonsense: 1 }, { ...live, userId: 'u' }],
  ])('%s', (_, type, call, message) => {
    expect(made(type, call)).toEqual({ type, ...message });
  });

  test.each([
    [new Date('2012-12-02T00:30:08.276Z'), '2012-12-02T00:30:08.276Z'],
    ['2012-12-02T00:30:08.276Z', '2012-12-02T00:30:08.276Z'],
    ['2012-12-02T00:30:08', '2012-12-02T00:30:08.000Z'],
    ['2012-12-02T01:30:08+01:00', '2012-12-02T00:30:08.000Z'],
    ['2012-12-02', '2012-12-02T00:00:00.000Z'],
  ])('timestamp %s', (timestamp, written) => {
    const message = made('page', { userId: 'u', timestamp });
    expect(message.timestamp).toBe(written);
    expect(message.originalTimestamp).toBeUndefined();
  });
});

test.each<[string, CallType, unknown, string]>([
  ['nobody', 'track', { event: 'E' }, 'userId or anonymousId'],
  ['an empty id', 'page', { userId: '' }, 'userId or anonymousId'],
  ['no event', 'track', { userId: 'u' }, 'event'],
  ['an event that is no text', 'track', { userId: 'u', event: 1 }, 'event'],
  ['no group', 'group', { userId: 'u' }, 'groupId'],
  ['alias of nobody', 'alias', { previousId: 'p' }, 'userId'],
  ['alias to nobody', 'alias', { userId: 'u' }, 'previousId'],
  ['an id beyond 2^53', 'page', { userId: 2 ** 53 }, 'userId'],
  ['an id that is no number', 'page', { userId: NaN }, 'userId'],
  ['a long messageId', 'page', { userId: 'u', messageId: 'x'.repeat(100) }, 'messageId'],
  ['traits that are a list', 'identify', { userId: 'u', traits: [] }, 'traits'],
  ['a timestamp in words', 'page', { userId: 'u', timestamp: 'yesterday' }, 'timestamp'],
  ['a timestamp that is a number', 'page', { userId: 'u', timestamp: 1 }, 'timestamp'],
  ['a date that is none', 'page', { userId: 'u', timestamp: new Date(NaN) }, 'timestamp'],
  ['nothing', 'page', null, 'object'],
])('%s is refused', (_, type, call, says) => {
  expect(() => made(type, call)).toThrow(InvalidCallError);
  expect(() => made(type, call)).toThrow(says);
});

test('a value that JSON cannot hold is refused', () => {
  const round: Record<string, unknown> = {};
  round.self = round;
  expect(() => toQueued(made('page', { userId: 'u', properties: round }))).toThrow(
    InvalidCallError,
  );
  expect(() => toQueued(made('page', { userId: 'u', properties: { big: 1n } }))).toThrow(
    InvalidCallError,
  );
});

test('a call may be as large as ingest accepts, and no larger', () => {
  const room = 32 * 1024 - toQueued(made('page', { userId: 'u', name: '' })).bytes;
  const largest = toQueued(
    made('page', { userId: 'u', name: 'é'.repeat(room / 2) + 'x'.repeat(room % 2) }),
  );
  const sent = JSON.parse(toBody([largest], NOW)) as { batch: unknown[] };
  expect(Buffer.byteLength(JSON.stringify(sent.batch[0]))).toBe(32 * 1024);
  const parsed = finish(parseBody(Buffer.from(toBody([largest], NOW)), 'batch'));
  const receipt = { now: NOW, makeId: () => 'id', isOwnKey: () => true };
  expect('calls' in parsed && finish(validateCalls(parsed, receipt))).toMatchObject({
    rejected: [],
  });
  expect(() => toQueued(made('page', { userId: 'u', name: 'x'.repeat(room + 1) }))).toThrow(
    '32768',
  );
});

test('the bytes of a text are counted as UTF-8', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const json = JSON.stringify(text);
      expect(utf8Length(json)).toBe(Buffer.byteLength(json));
    }),
  );
});

test('an id made from random bytes is a UUID', () => {
  expect(uuidOf(new Uint8Array(16).fill(255))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
});
