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
  ['what Python 2 prints', "{'writeKey': u'key-1', 'batch': []}"],
  ['bytes of Python', "{'writeKey': b'key-1', 'batch': []}"],
  ['NULs around the colon', '{"writeKey"\0:\0"key-1","batch":[]}'],
  ['an array', '{"writeKey":["key-1"],"batch":[]}'],
  ['JSON in a form', 'data=%7B%22writeKey%22%3A%22key-1%22%2C%22batch%22%3A%5B%5D%7D'],
  ['JSON in a form, written twice', 'data=%257B%2522writeKey%2522%253A%2522key-1%2522%252C%2522b'],
  ['multipart', 'Content-Disposition: form-data; name="writeKey"\r\n\r\nkey-1\r\n--x'],
  ['XML', '<call><writeKey>key-1</writeKey><event>e</event></call>'],
])('the beginning of a body shows no write key: %s', (_, text, key = 'key-1') => {
  const body = Buffer.from(text);
  expect(excerptOf(body, 0, body.length)).toEqual({
    text: text.replace(key, ''),
    truncated: false,
  });
});

test.each([
  '{"writeKey":"","batch":[{',
  '{"writeKey":{"a":1}}',
  '{"writeKeys":["a"]}',
  'writeKey',
  'writeKey=&batch=[]',
])('the beginning of a body without a write key is shown as it is: %s', (text) => {
  const body = Buffer.from(text);
  expect(excerptOf(body, 0, body.length).text).toBe(text);
});
