import { defined } from '../../../shared/collections/defined';
import { cutBody, cutMessage, writeMessage } from '../../../shared/model/cut-body';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { parseMessage, readMessageHeaders } from '../../../shared/model/message-codec';
import { renderBody } from '../../../shared/model/webhook-body';

const AT = '2026-01-01T00:00:00.000Z';
const aMessage = (given: Record<string, unknown> = {}): Message => ({
  type: 'track',
  messageId: 'm1',
  timestamp: AT,
  receivedAt: AT,
  userId: 'u1',
  event: 'Order Completed',
  ...given,
});

/** Writes a message as ingest does, and reads it as the router does. */
function written(message: Message) {
  const { value, body } = writeMessage(message);
  const headers = messageHeaders('src_1', message, {
    acceptedAtMs: Date.parse(AT),
    traceparent: '',
    body,
  });
  const head = readMessageHeaders(headers);
  if (head.kind !== 'message') throw new Error(head.kind);
  const record = { key: Buffer.from(messageKey('src_1', message)), value: Buffer.from(value) };
  return { value, head, record, cut: cutMessage(head, record) };
}

const REST = {
  sentAt: AT,
  originalTimestamp: AT,
  channel: 'server',
  constructor: 'c',
  toString: { 1: true },
  '5': [],
};
const DEEP = {
  __proto__: null,
  '2': 1,
  b: 'ü€😀',
  a: [null, { c: '\ud800' }],
  n: 1e20,
  z: -0,
  'quo"te': '\\',
};

describe('a written message', () => {
  test.each<[string, Record<string, unknown>, string | undefined]>([
    [
      'track',
      {
        properties: DEEP,
        context: DEEP,
        integrations: { All: true },
        groupId: 'g',
        traits: { t: 1 },
      },
      undefined,
    ],
    [
      'track of an anonymous user',
      { userId: undefined, anonymousId: 'a,1', properties: {} },
      undefined,
    ],
    ['track of both ids', { anonymousId: 'a1' }, undefined],
    [
      'page',
      { type: 'page', event: undefined, name: 'a, b\n"c"', category: 'c', properties: DEEP },
      'a, b\n"c"',
    ],
    ['page without a name', { type: 'page', event: undefined }, undefined],
    [
      'page with a long name',
      { type: 'page', event: 'e', name: 'n'.repeat(300) },
      `${'n'.repeat(199)}…`,
    ],
    [
      'screen',
      { type: 'screen', event: undefined, name: 'Start', category: 'kept beside the body' },
      'Start',
    ],
    [
      'identify',
      { type: 'identify', event: 'kept beside the body', traits: DEEP, context: { ip: '::1' } },
      undefined,
    ],
    ['group', { type: 'group', event: undefined, groupId: 'g', traits: {} }, undefined],
  ])(
    'of type %s has the bytes of the rendered body, and everything else behind them',
    (_, given, name) => {
      const message = aMessage({ ...REST, ...given });
      const { value, record, cut } = written(message);
      expect(parseMessage(record.value)).toEqual(JSON.parse(JSON.stringify(message)));
      expect(JSON.parse(value)).not.toHaveProperty('version');
      expect(cut && cutBody(cut).toString()).toBe(
        renderBody(parseMessage(record.value) as Message),
      );
      const { type, userId, anonymousId } = message;
      const user = userId === undefined ? { anonymousId } : { userId };
      expect(cut?.message).toEqual({
        type,
        ...user,
        ...defined({
          event: type === 'track' ? 'Order Completed' : undefined,
          name,
        }),
      });
    },
  );

  test.each<[string, Record<string, unknown>]>([
    ['an alias, whose body has other names', { type: 'alias', previousId: 'p' }],
    ['a deletion, which has no version', { type: 'delete' }],
    ['a field of the client is named like one of the body', { version: '2' }],
    ['the event has a long name, which may be blocked', { event: 'e'.repeat(201) }],
    ['the client excludes webhooks', { integrations: { Webhooks: false } }],
    ['the client excludes webhooks in its context', { context: { integrations: { All: false } } }],
    ['there is no user', { userId: undefined }],
  ])('must be parsed if: %s', (_, given) => {
    const message = aMessage(given);
    const { head, record, cut } = written(message);
    expect([head.body, cut]).toEqual([undefined, undefined]);
    expect(parseMessage(record.value)).toEqual(JSON.parse(JSON.stringify(message)));
  });

  test.each([
    ['no header', undefined],
    ['another length', '95,track,userId,'],
    ['a length beyond the value', '9999,track,userId,'],
    ['an unknown type', '96,order,userId,'],
    ['an unknown field', '96,track,groupId,'],
    ['no numbers', 'x'],
  ])('must be parsed if its header has %s', (_, body) => {
    const { head, record } = written(aMessage());
    const { body: good, ...others } = head;
    expect(cutMessage(head, record)).toBeDefined();
    expect(good).toMatch(/^[0-9]+,track,userId,$/);
    expect(
      cutMessage(
        {
          ...others,
          ...defined({ body }),
        },
        record,
      ),
    ).toBeUndefined();
  });

  test.each([
    ['key', { key: null }],
    ['value', { value: null }],
  ])('cannot be cut without a %s', (_, without) => {
    const { head, record } = written(aMessage());
    expect(cutMessage(head, { ...record, ...without })).toBeUndefined();
  });
});
