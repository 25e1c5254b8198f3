import fc from 'fast-check';
import { renderBody } from '../../../shared/model/webhook-body';
import { MESSAGE_TYPES, type Message, type MessageType } from '../../../shared/model/message';

/**
 * Every field that a message may have, and some that it may not, so that left-out fields show as
 * well.
 */
const FULL: Omit<Message, 'type'> = {
  messageId: 'm-1',
  timestamp: '2026-01-02T03:04:05.678Z',
  receivedAt: '2026-01-02T03:04:06.000Z',
  originalTimestamp: '2026-01-02T03:04:05.000Z',
  sentAt: '2026-01-02T03:04:05.322Z',
  userId: 'u-1',
  anonymousId: 'a-1',
  previousId: 'p-1',
  groupId: 'g-1',
  event: 'Order Completed',
  name: 'Home',
  category: 'Docs',
  properties: { total: 9.5, list: [1, null] },
  traits: { plan: 'pro' },
  context: { ip: '1.2.3.4', integrations: { All: true } },
  integrations: { Webhooks: true },
};

const COMMON = '"version":1,"type":"%","userId":"u-1","timestamp":"2026-01-02T03:04:05.678Z"';
const CONTEXT = '"context":{"ip":"1.2.3.4","integrations":{"All":true}}';
const ADDED = '"anonymousId":"a-1","messageId":"m-1","integrations":{"Webhooks":true}';
const PROPERTIES = '"properties":{"total":9.5,"list":[1,null]}';

describe('the body of a webhook', () => {
  const table: Record<MessageType, string> = {
    page: `{${COMMON},${PROPERTIES},"name":"Home","category":"Docs",${CONTEXT},${ADDED}}`,
    screen: `{${COMMON},"name":"Home",${PROPERTIES},${CONTEXT},${ADDED}}`,
    identify: `{${COMMON},"traits":{"plan":"pro"},${CONTEXT},${ADDED}}`,
    track: `{${COMMON},"event":"Order Completed",${PROPERTIES},${CONTEXT},${ADDED}}`,
    alias:
      '{"version":1,"type":"%","Previous ID":"p-1","User ' +
      `ID":"u-1","timestamp":"2026-01-02T03:04:05.678Z",${CONTEXT},${ADDED}}`,
    group: `{${COMMON},"groupId":"g-1","traits":{"plan":"pro"},${CONTEXT},${ADDED}}`,
    delete: '{"type":"%","userId":"u-1","timestamp":"2026-01-02T03:04:05.678Z"}',
  };
  test.each(MESSAGE_TYPES)('is exact for the type %s, byte for byte', (type) => {
    expect(renderBody({ type, ...FULL })).toBe(table[type].replace('%', type));
  });

  test.each([
    ['page', '{"version":1,"type":"page","timestamp":"t","messageId":"m"}'],
    ['screen', '{"version":1,"type":"screen","timestamp":"t","messageId":"m"}'],
    ['identify', '{"version":1,"type":"identify","timestamp":"t","messageId":"m"}'],
    ['track', '{"version":1,"type":"track","timestamp":"t","messageId":"m"}'],
    ['alias', '{"version":1,"type":"alias","timestamp":"t","messageId":"m"}'],
    ['group', '{"version":1,"type":"group","timestamp":"t","messageId":"m"}'],
    ['delete', '{"type":"delete","timestamp":"t"}'],
  ] as const)('of the type %s leaves out absent fields', (type, body) => {
    expect(renderBody({ type, messageId: 'm', timestamp: 't', receivedAt: 'r' })).toBe(body);
  });

  test('keeps the anonymousId of an anonymous call, and drops unknown keys of the message', () => {
    const message = {
      type: 'track',
      messageId: 'm',
      timestamp: 't',
      receivedAt: 'r',
      event: 'e',
      anonymousId: 'a',
    };
    expect(renderBody({ ...message, channel: 'server' } as Message)).toBe(
      '{"version":1,"type":"track","timestamp":"t","event":"e","anonymousId":"a","messageId":"m"}',
    );
  });

  test.each([
    ['a __proto__ key', '{"__proto__":{"a":1},"b":2}'],
    ['empty objects and strings', '{"a":{},"b":"","c":[]}'],
    ['nulls inside', '{"a":null}'],
    ['text of any script, and lone surrogates escaped', '{"a":"日本 😀 \\ud800"}'],
    ['integer-like keys, which JavaScript puts first', '{"1":1,"a":2}'],
  ])('keeps %s', (_, json) => {
    const properties = JSON.parse(json) as NonNullable<Message['properties']>;
    expect(
      renderBody({ type: 'track', messageId: 'm', timestamp: 't', receivedAt: 'r', properties }),
    ).toContain(`"properties":${json}`);
  });

  test('keeps all properties unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (properties) => {
        const sent = JSON.parse(JSON.stringify(properties)) as NonNullable<Message['properties']>;
        const body = renderBody({
          type: 'track',
          messageId: 'm',
          timestamp: 't',
          receivedAt: 'r',
          properties: sent,
        });
        expect((JSON.parse(body) as Message).properties).toEqual(sent);
      }),
    );
  });
});
