import { HTTP } from 'cloudevents';
import fc from 'fast-check';
import { cut } from '../../../shared/model/formats/card';
import { formatBody } from '../../../shared/model/formats/format-body';
import { MESSAGE_TYPES, type Message } from '../../../shared/model/message';
import { BODY_FORMATS, type BodyFormat } from '../../../shared/model/request-settings';
import { renderBody } from '../../../shared/model/webhook-body';
import { cases } from '../../support/cases';
import { anyText } from '../../support/any-text';

/** Every format against the published schema or the documented limits of its receiver. */

const at = '2026-03-04T05:06:07.000Z';
const ORDER: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: at,
  receivedAt: at,
  userId: 'u1',
  event: 'Order Completed',
  properties: { total: 12.5, coupon: 'A<B>&C', products: [{ sku: 'a' }], '': '' },
};
const bodyOf = (format: BodyFormat, message = ORDER) =>
  JSON.parse(formatBody(format, message, 'src_1').body);

/** Messages of every type, with the ids and texts that are hard to show. */
const HOSTILE: Message[] = MESSAGE_TYPES.flatMap((type) => {
  const base = { type, messageId: 'm1', timestamp: at, receivedAt: at };
  const long = 'ä<!channel>@everyone[a](https://b.example/)[a][b]"\\😀'.repeat(900);
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`p${i}`, long.slice(0, 100)]),
  );
  return [
    base,
    {
      ...base,
      userId: 'u1',
      event: long,
      name: long,
      groupId: 'g',
      previousId: 'p',
      properties: {},
      traits: {},
    },
    {
      ...base,
      anonymousId: '日本',
      event: '',
      properties: { [long]: long, n: null },
      traits: { [long]: long },
    },
    { ...base, userId: '', event: 'e', properties: many, traits: many },
  ];
});

const length = (text: unknown) => (typeof text === 'string' ? text.length : NaN);
const between = (value: number, least: number, most: number) => value >= least && value <= most;

/** A parsed body: its shape is what these tests check. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Body = any;

/** Each returns the limits of a receiver, and whether they hold. */
const LIMITS: Partial<Record<BodyFormat, (body: Body) => [what: string, holds: boolean][]>> = {
  // docs.slack.dev/reference/block-kit/blocks and
  // docs.slack.dev/changelog/2018-truncating-really-long-messages
  slack: ({ text, blocks }) => [
    ['text of at most 40,000 characters', between(length(text), 1, 40_000)],
    ['at most 50 blocks', between(blocks.length, 1, 50)],
    [
      'blocks of less than 13,200 characters together',
      JSON.stringify(blocks).length < 30_000 && shown(blocks) < 13_200,
    ],
    ...blocks.flatMap((block: Body): [string, boolean][] => [
      ['a known type', ['header', 'section', 'context'].includes(block.type)],
      [
        'a header of 1 to 150 characters',
        block.type !== 'header' || between(length(block.text.text), 1, 150),
      ],
      ['a section text of 1 to 3,000', !block.text || between(length(block.text.text), 1, 3_000)],
      ['1 to 10 fields', !block.fields || between(block.fields.length, 1, 10)],
      [
        'fields of 1 to 2,000',
        (block.fields ?? []).every((field: Body) => between(length(field.text), 1, 2_000)),
      ],
      ['1 to 10 elements', !block.elements || between(block.elements.length, 1, 10)],
      ['no mention', !/<[!@#]/.test(JSON.stringify(block))],
    ]),
  ],
  // docs.discord.com/developers/resources/webhook#execute-webhook and
  // /message#embed-object-embed-limits
  discord: ({ content, embeds, allowed_mentions: mentions }) => [
    ['content of at most 2,000 characters', between(length(content), 0, 2_000)],
    ['content or embeds', length(content) > 0 || embeds.length > 0],
    ['at most 10 embeds', between(embeds.length, 1, 10)],
    ['no mention', JSON.stringify(mentions) === '{"parse":[]}'],
    ['no link with a text of its own', !hasLink([content, embeds])],
    ...embeds.flatMap(({ description, fields, footer, timestamp }: Body): [string, boolean][] => [
      [
        'a description of at most 4,096',
        description === undefined || between(length(description), 1, 4_096),
      ],
      ['a footer of at most 2,048', between(length(footer.text), 1, 2_048)],
      ['a timestamp', !Number.isNaN(Date.parse(timestamp))],
      ['at most 25 fields', fields.length <= 25],
      ['names of 1 to 256', fields.every(({ name }: Body) => between(length(name), 1, 256))],
      ['values of 1 to 1,024', fields.every(({ value }: Body) => between(length(value), 1, 1_024))],
      ['6,000 characters together', shown([description, fields, footer]) <= 6_000],
    ]),
  ],
  // learn.microsoft.com/connectors/teams: a message with Adaptive Cards, at most 28 KB
  teams: (body) => [
    ['at most 28 KB', Buffer.byteLength(JSON.stringify(body)) <= 28 * 1_000],
    ['a message', body.type === 'message'],
    ['no link with a text of its own', !hasLink(body)],
    ...body.attachments.flatMap(({ contentType, content }: Body): [string, boolean][] => [
      [
        'an Adaptive Card',
        contentType === 'application/vnd.microsoft.card.adaptive' &&
          content.type === 'AdaptiveCard',
      ],
      ['a version that Teams shows', ['1.2', '1.3', '1.4', '1.5'].includes(content.version)],
      [
        'known elements',
        content.body.every(({ type }: Body) => ['TextBlock', 'FactSet'].includes(type)),
      ],
      [
        'texts',
        content.body.every(({ type, text }: Body) => type !== 'TextBlock' || length(text) > 0),
      ],
      [
        'facts of title and value',
        content.body.every(({ facts = [] }: Body) =>
          facts.every((f: Body) => length(f.title) > 0 && length(f.value) > 0),
        ),
      ],
    ]),
  ],
  // developer.pagerduty.com/docs/send-alert-event; github.com/PagerDuty/api-schema, events-v2
  pagerduty: ({ event_action: action, dedup_key: key, payload }) => [
    ['a known action', ['trigger', 'acknowledge', 'resolve'].includes(action)],
    ['a dedup_key of at most 255', between(length(key), 1, 255)],
    ['a summary of 1 to 1,024', between(length(payload.summary), 1, 1_024)],
    ['a known severity', ['critical', 'error', 'warning', 'info'].includes(payload.severity)],
    ['a source', length(payload.source) > 0],
    ['a timestamp', !Number.isNaN(Date.parse(payload.timestamp))],
    ['details', typeof payload.custom_details === 'object'],
  ],
};

/** Whether a text of a body is a link in Markdown that shows another text than its address. */
function hasLink(value: unknown): boolean {
  if (typeof value === 'string') return /\][([:]/.test(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasLink);
}

/** Returns the number of characters of all texts in a value. */
function shown(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, item) => sum + shown(item), 0)
    : 0;
}

describe.each(Object.entries(LIMITS))('the format %s', (format, limits) => {
  test.each(HOSTILE.map((message, i) => [message.type, i, message] as const))(
    'a %s keeps every limit of the receiver (%d)',
    (_, __, message) => {
      const violated = limits(bodyOf(format as BodyFormat, message)).filter(([, holds]) => !holds);
      expect(violated).toEqual([]);
    },
  );

  test('every message keeps every limit of the receiver', () => {
    const text = anyText({ maxLength: 3_000 });
    const values = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), {
      maxKeys: 40,
    });
    const type = fc.constantFrom(...MESSAGE_TYPES);
    fc.assert(
      fc.property(type, text, values, (kind, event, properties) => {
        const message = {
          ...ORDER,
          type: kind,
          event,
          name: event,
          properties,
          traits: properties,
        };
        const violated = limits(bodyOf(format as BodyFormat, message)).filter(
          ([, holds]) => !holds,
        );
        expect(violated).toEqual([]);
      }),
      { numRuns: cases(50) },
    );
  });
});

describe('CloudEvents', () => {
  const BINARY = [
    ['an order', ORDER],
    [
      'an anonymous user with letters beyond ASCII',
      { ...ORDER, userId: undefined, anonymousId: 'Zoë "%" 日本' },
    ],
    [
      'a deletion without an event',
      { type: 'delete', messageId: 'm2', timestamp: at, receivedAt: at, userId: 'u1' },
    ],
  ] as [string, Message][];

  test.each(BINARY)('%s in structured mode is valid for the cloudevents package', (_, message) => {
    const { body, contentType = '' } = formatBody('cloudevents', message, 'src_1');
    const event = HTTP.toEvent({ headers: { 'content-type': contentType }, body }) as Body;
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({
      id: message.messageId,
      source: '/sources/src_1',
      type: `waypost.${message.type}`,
    });
    expect(event.subject).toBe(message.userId ?? message.anonymousId);
    expect(event.data).toEqual(JSON.parse(renderBody(message)));
  });

  test.each(BINARY)('%s in binary mode is valid for the cloudevents package', (_, message) => {
    const { body, headers = [] } = formatBody('cloudevents-binary', message, 'src_1');
    const pairs = Array.from({ length: headers.length / 2 }, (__, i) =>
      headers.slice(2 * i, 2 * i + 2),
    );
    for (const [, value] of pairs) expect(value).toMatch(/^[\x21-\x7e]+$/);
    const event = HTTP.toEvent({
      headers: { ...Object.fromEntries(pairs), 'content-type': 'application/json' },
      body,
    }) as Body;
    expect(event.validate()).toBe(true);
    expect(decodeURIComponent(event.subject)).toBe(message.userId ?? message.anonymousId);
    expect(event.data).toEqual(JSON.parse(renderBody(message)));
    expect(body).toBe(renderBody(message));
  });
});

test('a thin body has the ids and the name of the event, and no content', () => {
  const message = { ...ORDER, traits: { a: 1 }, context: { ip: '1' } };
  expect(bodyOf('thin', message)).toEqual({
    type: 'track',
    messageId: 'm1',
    userId: 'u1',
    event: 'Order Completed',
    timestamp: at,
  });
});

test('the default format is the default body', () => {
  expect(formatBody('default', ORDER, 'src_1')).toEqual({ body: renderBody(ORDER) });
});

test('Slack shows an order with escaped facts', () => {
  expect(bodyOf('slack')).toMatchObject({
    text: 'Order Completed',
    blocks: [
      { type: 'header', text: { text: 'Order Completed' } },
      {
        type: 'section',
        fields: [
          { text: '*total*\n12.5' },
          { text: '*coupon*\nA&lt;B&gt;&amp;C' },
          { text: '*products*\n[{"sku":"a"}]' },
          { text: '*""*\n""' },
        ],
      },
      { type: 'context', elements: [{ text: `track · user u1 · ${at}` }] },
    ],
  });
});

test('valid severity, event_action and dedup_key properties choose those of PagerDuty', () => {
  const chosen = { severity: 'critical', event_action: 'resolve', dedup_key: 'disk' };
  expect(bodyOf('pagerduty', { ...ORDER, properties: chosen })).toMatchObject({
    event_action: 'resolve',
    dedup_key: 'disk',
    payload: {
      severity: 'critical',
      summary: 'Order Completed (track · user u1)',
      source: 'src_1',
    },
  });
  const wrong = { severity: 'bad', event_action: 3, dedup_key: '' };
  expect(bodyOf('pagerduty', { ...ORDER, properties: wrong })).toMatchObject({
    event_action: 'trigger',
    dedup_key: 'm1',
    payload: { severity: 'info' },
  });
});

test.each(BODY_FORMATS)('the format %s renders every type of message', (format) => {
  for (const message of HOSTILE) expect(typeof bodyOf(format, message)).toBe('object');
});

test('a text is cut at a whole character, with an ellipsis within the limit', () => {
  expect([
    cut('abcd', 4),
    cut('abcde', 4),
    cut('a😀😀', 4),
    cut('&&', 9, () => '&amp;'),
    cut('', 3),
  ]).toEqual(['abcd', 'abc…', 'a😀…', '&amp;…', '']);
});
