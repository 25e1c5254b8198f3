import fc from 'fast-check';
import { type Failure } from '../../../shared/cel/evaluation-error';
import { messageVariables } from '../../../shared/cel/json-values';
import { compileBody, compileHeader, type RenderedText } from '../../../shared/cel/template';
import { type Json, type JsonObject, type Message } from '../../../shared/model/message';
import { anyText } from '../../support/any-text';

const at = '2026-03-04T05:06:07.000Z';
const message: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: at,
  receivedAt: at,
  userId: 'u1',
  event: 'Order Completed',
  properties: {
    total: 5,
    rate: 1.5,
    products: [{ name: 'a' }, { name: 'b' }],
    gift: null,
    constructor: 'theirs',
  },
};

function body(text: string, of = message): RenderedText | Failure {
  const template = compileBody(text);
  if (template.kind === 'mistake') throw new Error(template.message);
  return template.render(messageVariables(of));
}

function header(text: string): string | Failure {
  const template = compileHeader(text);
  if (template.kind === 'mistake') throw new Error(template.message);
  return template.render(messageVariables(message));
}

describe('the JSON of a body', () => {
  test.each([
    ['{"z": 1, "10": 2, "a": 3}', '{"z":1,"10":2,"a":3}'],
    ['{"total": properties.total, "rate": properties.rate}', '{"total":5,"rate":1.5}'],
    ['[2.0, 1e21, -0.5, 9223372036854775807, 1u]', '[2,1e+21,-0.5,9223372036854775807,1]'],
    ['[null, true, "a\\"b\\n", b"abc", []]', '[null,true,"a\\"b\\n","YWJj",[]]'],
    ['{1: "int", true: "bool", "k": "text"}', '{"1":"int","true":"bool","k":"text"}'],
    ['{"at": timestamp, "for": duration("90m")}', `{"at":"${at}","for":"5400s"}`],
    ['{"at": timestamp("2026-03-04T05:06:07.123456Z")}', '{"at":"2026-03-04T05:06:07.123456Z"}'],
    ['properties.products.map(p, {"n": p.name})', '[{"n":"a"},{"n":"b"}]'],
    ['{"gift": has(properties.coupon) ? properties.coupon : null}', '{"gift":null}'],
    ['{"traits": traits}', '{"traits":{}}'],
    ['message', JSON.stringify(message)],
    ['{"c": message.properties.constructor}', '{"c":"theirs"}'],
  ])('%s is %s', (text, json) => expect(body(text)).toEqual({ kind: 'json', text: json }));
});

describe('the text of a body', () => {
  test.each([
    ['event + " by " + userId', 'Order Completed by u1'],
    ['properties.products.map(p, p.name).join(", ")', 'a, b'],
    ['properties.products.map(p, p.name).join()', 'ab'],
    ['"total=" + string(properties.total)', 'total=5'],
  ])('%s is %s', (text, rendered) => expect(body(text)).toEqual({ kind: 'text', text: rendered }));
});

describe('a body that cannot be rendered has a reason that quotes no value', () => {
  test.each([
    ['{"total": properties.coupon}', 'missing', 'there is no "coupon"'],
    ['properties.total', 'type', 'the result is double, not a map, a list or text'],
    ['{"a": 1.0 / 0.0}', 'type', 'the result contains a number that is infinite or not a number'],
    ['{"a": type(1)}', 'type', 'the result contains type, which JSON cannot hold'],
    [
      '{1: 1, "1": 2}',
      'type',
      'the result contains two keys with the same text, such as 1 and "1"',
    ],
    ['properties.products.join("")', 'type', 'join() does not take list'],
    [
      '[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, ' +
        '[1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, d))))',
      'work',
      'the work limit for one message is exceeded: loops, patterns, long lists and long texts count',
    ],
  ])('%s', (text, code, reason) => expect(body(text)).toMatchObject({ code, message: reason }));

  test('a body that names a large message many times exceeds the work limit', () => {
    const large = {
      ...message,
      properties: { texts: Array.from({ length: 3_000 }, () => 'abcdefgh') },
    };
    const text = `[${Array.from({ length: 100 }, () => 'message').join(',')}]`;
    expect(body(text, large)).toMatchObject({ code: 'work' });
  });

  test('a text that join would make too long is not made', () => {
    const large = { ...message, properties: { texts: Array.from({ length: 3_000 }, () => 'a') } };
    expect(body(`properties.texts.join("${'x'.repeat(1_000)}")`, large)).toMatchObject({
      code: 'work',
    });
  });
});

test('a body that is neither JSON nor text is a mistake', () => {
  expect(compileBody('properties.total > 3')).toMatchObject({
    kind: 'mistake',
    message: expect.stringContaining('The expression is bool but must be a map, a list or text'),
  });
});

test.each([
  ['{"a": 1}', 'map'],
  ['[event]', 'list'],
  ['event', 'text'],
  ['properties.whole', undefined],
  ['properties.a == 1 ? {"a": 1} : {"b": 2}', 'map'],
])('%s yields %s', (text, yields) => expect(compileBody(text)).toMatchObject({ yields }));

describe('a header', () => {
  test('a header is the text of its expression', () =>
    expect(header('userId + "/" + type')).toBe('u1/track'));

  test('a header that is no text is a mistake, or fails where only the message decides', () => {
    expect(compileHeader('{"a": 1}')).toMatchObject({ kind: 'mistake' });
    expect(header('properties.total')).toMatchObject({
      code: 'type',
      message: expect.stringContaining('is double'),
    });
  });
});

test('every message is rendered as JSON that reads back as the same message', () => {
  const json = fc.letrec<{ any: Json }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      anyText(),
      fc.array(tie('any'), { maxLength: 5 }),
      fc.dictionary(fc.string(), tie('any'), { maxKeys: 5 }),
    ),
  })).any;
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json, { maxKeys: 6 }), (properties) => {
      const given = JSON.parse(JSON.stringify({ ...message, properties })) as Message & {
        properties: JsonObject;
      };
      const copied = body('{"whole": message, "list": [properties], "type": type}', given);
      expect(copied).toEqual({
        kind: 'json',
        text: JSON.stringify({ whole: given, list: [given.properties], type: 'track' }),
      });
    }),
  );
});
