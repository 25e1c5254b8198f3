import { compileExpression } from '../../../shared/cel/compile';
import { messageVariables } from '../../../shared/cel/json-values';
import { compileBody } from '../../../shared/cel/template';
import { parseJson } from '../../../shared/json/json';
import { type JsonObject, type Message } from '../../../shared/model/message';

/** Numbers that no double holds, in filters and bodies. */

const at = '2026-03-04T05:06:07.000Z';
const properties = parseJson(`{
  "id": 7615917337495251231,
  "least": -9223372036854775808,
  "beyond": 9223372036854775808,
  "price": 19.989999999999998436805981327779591083526611328125,
  "list": [1, 12345678901234567890123],
  "huge": 1e400,
  "tiny": 1e-400,
  "zero": 0
}`) as JsonObject;
const message: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: at,
  receivedAt: at,
  userId: 'u1',
  event: 'e',
  properties,
};

function evaluate(text: string) {
  const expression = compileExpression(text, 'filter');
  if (expression.kind === 'mistake') throw new Error(expression.message);
  return expression.evaluate(messageVariables(message));
}

test.each([
  'properties.id == 7615917337495251231',
  'properties.id != 7615917337495251230',
  'properties.id > 7615917337495251230',
  'properties.id > 1.5',
  'properties.id in [1, 7615917337495251231]',
  'string(properties.id) == "7615917337495251231"',
  'double(properties.id) > 7.6e18',
  'properties.least == -9223372036854775807 - 1',
  'properties.beyond > 9.2e18',
  'properties.price < 20.0 && properties.price * 2.0 > 39.0',
  'properties.list[1] > 1e22',
  'properties.huge > 1e308',
  'properties.tiny == 0.0',
])('%s is true', (text) => expect(evaluate(text)).toBe(true));

function body(text: string, of = message) {
  const template = compileBody(text);
  if (template.kind === 'mistake') throw new Error(template.message);
  return template.render(messageVariables(of));
}

test.each([
  ['{"id": properties.id}', '{"id":7615917337495251231}'],
  ['{"id": string(properties.id)}', '{"id":"7615917337495251231"}'],
  ['{"id": properties.least}', '{"id":-9223372036854775808}'],
  ['{"id": properties.beyond}', '{"id":9223372036854775808}'],
  ['{"price": properties.price}', '{"price":19.989999999999998436805981327779591083526611328125}'],
  ['properties.list', '[1,12345678901234567890123]'],
  ['properties.list.map(each, each)', '[1,12345678901234567890123]'],
  ['{"huge": properties["huge"]}', '{"huge":1e400}'],
  ['[properties.tiny, properties.zero, 0.0]', '[0,0,0]'],
])('the body %s is %s', (text, json) => expect(body(text)).toEqual({ kind: 'json', text: json }));

test('the second rendering of a message has the digits too', () => {
  const template = compileBody('{"list": properties.list}');
  if (template.kind === 'mistake') throw new Error(template.message);
  const variables = messageVariables(message);
  const expected = { kind: 'json', text: '{"list":[1,12345678901234567890123]}' };
  expect(template.render(variables)).toEqual(expected);
  expect(template.render(variables)).toEqual(expected);
});

test('numbers with the same nearest double keep their own digits', () => {
  const ids = Array.from(
    { length: 50 },
    (_, i) => `${i % 2 === 0 ? '' : '-'}1234567890123456789${100 + i}`,
  );
  const text = `{"ids":[${ids.join(',')}],"huge":[1e400,1e401,-1e400]}`;
  const of = { ...message, properties: parseJson(text) as JsonObject };
  expect(body('properties', of)).toEqual({ kind: 'json', text });
  expect(body('properties.ids.map(id, id)', of)).toEqual({
    kind: 'json',
    text: `[${ids.join(',')}]`,
  });
  expect(body('[properties.ids[2], properties.ids[0], properties.ids[2]]', of)).toEqual({
    kind: 'json',
    text: `[${ids[2]},${ids[0]},${ids[2]}]`,
  });
});

test.each([
  ['{"a":9007199254740994,"b":9007199254740993.5}', 'properties'],
  ['{"b":9007199254740993.5,"a":9007199254740994}', 'properties'],
  ['{"a":0.1,"b":0.1000000000000000055511151231257827}', 'properties'],
  ['{"a":5e-324,"b":4.9406564584124654e-324,"c":4.94065645841246545e-324}', 'properties'],
])('no number of the message is written as another one: %s', (text, template) => {
  const of = { ...message, properties: parseJson(text) as JsonObject };
  expect(body(template, of)).toEqual({ kind: 'json', text });
});

test('an infinite result is not the exact number of the message that is nearest to it', () => {
  const of = { ...message, properties: parseJson('{"huge":1e400}') as JsonObject };
  expect(body('{"huge": properties.huge}', of)).toEqual({ kind: 'json', text: '{"huge":1e400}' });
  expect(body('[properties.huge, 1.0 / 0.0]', of)).not.toHaveProperty('kind');
});
