import { excerptOf } from '../../../../services/ingest/calls/excerpt';

test.each<[string, string, string?]>([
  ['JSON', '{"writeKey": "key-1", "batch": []'],
  ['a text of two words', '{"writeKey":"Bearer, key-1","batch":[]}', 'Bearer, key-1'],
  ['JSON of JSON', String.raw`"{\"writeKey\":\"key-1\",\"batch\":[]}"`],
  ['JSON of JSON of JSON', String.raw`"\"{\\\"writeKey\\\":\\\"key-1\\\"}\""`],
  ['what Python prints', "{'writeKey': 'key-1', 'batch': []}"],
  ['JavaScript', '{writeKey: "key-1", batch: []}'],
  ['without quotes', '{"writeKey":key-1}'],
  ['a form', 'batch=[]&writeKey=key-1&sentAt=x'],
])('the beginning of a body shows no write key: %s', (_, text, key = 'key-1') => {
  const body = Buffer.from(text);
  expect(excerptOf(body, 0, body.length)).toEqual({
    text: text.replace(key, ''),
    truncated: false,
  });
});

test.each(['{"writeKey":"","batch":[{', '{"writeKey":{"a":1}}', 'writeKey'])(
  'the beginning of a body without a write key is shown as it is: %s',
  (text) => {
    const body = Buffer.from(text);
    expect(excerptOf(body, 0, body.length).text).toBe(text);
  },
);
