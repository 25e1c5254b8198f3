import { parseHeaders } from '../../../cli/headers';
import { SseParser } from '../../../cli/listen/sse';
import { parseTarget } from '../../../cli/listen/target';
import { Recent } from '../../../cli/listen/recent';
import { timeOf } from '../../../cli/time';
import { parseRequest } from '../../../cli/verify/request';

/** Parses texts from people, files and servers. */

test.each([
  ['3000', 'http://127.0.0.1:3000/'],
  ['3000/hook?a=1', 'http://127.0.0.1:3000/hook?a=1'],
  ['localhost:3000/hook', 'http://localhost:3000/hook'],
  ['https://dev.example/hook', 'https://dev.example/hook'],
])('the target %s is the URL %s', (text, url) => {
  expect(parseTarget(text).href).toBe(url);
});

test.each(['', '0', '99999', 'http://', 'http://a:b@localhost'])(
  'the target "%s" is refused',
  (text) => {
    expect(() => parseTarget(text)).toThrow('--to must be');
  },
);

test.each([
  ['15m', '2026-01-01T11:45:00.000Z'],
  ['7d', '2025-12-25T12:00:00.000Z'],
  ['2026-01-01T10:00:00Z', '2026-01-01T10:00:00.000Z'],
])('the time %s is %s', (text, time) => {
  expect(timeOf(text, '--since', Date.parse('2026-01-01T12:00:00Z'))).toBe(time);
});

test.each(['yesterday', '15', '2026'])('the time %s is refused', (text) => {
  expect(() => timeOf(text, '--since', 0)).toThrow('--since must be');
});

test('a file of headers is read by line, and a nameless line is refused without its text', () => {
  expect(parseHeaders('# mine\nX-A:  one \r\n\nX-B: a: b\nX-C:\n')).toEqual({
    'X-A': 'one',
    'X-B': 'a: b',
    'X-C': '',
  });
  expect(() => parseHeaders('X-A: one\nthe secret itself')).toThrow(
    /^Line 2 of the headers is not "Name: value"\.$/,
  );
});

test.each([1, 3, 7, 1000])(
  'the events of a stream are parsed from chunks of %i characters',
  (size) => {
    const text =
      ': here\n\nretry: 2000\n\nid: 1\ndata: {"a":1}\n\nevent: skipped\r\ndata: ' +
      'one\r\ndata:two\r\n\r\nid: 3\ndata: half';
    const parser = new SseParser();
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      text.slice(i * size, (i + 1) * size),
    );
    expect(chunks.flatMap((chunk) => parser.push(chunk))).toEqual([
      { event: 'message', id: '1', data: '{"a":1}' },
      { event: 'skipped', id: undefined, data: 'one\ntwo' },
    ]);
  },
);

test('a stream with an endless line is refused', () => {
  expect(() => new SseParser().push('x'.repeat(5 * 1024 * 1024))).toThrow('is too long');
});

test('a list of recent texts recognizes only the last ones', () => {
  const recent = new Recent(2);
  expect(['a', 'a', 'b', 'c', 'b', 'a'].map((text) => recent.add(text))).toEqual([
    true,
    false,
    true,
    true,
    false,
    true,
  ]);
});

test.each([
  [
    'in the format of HTTP',
    'POST /hook HTTP/1.1\r\nX-Signature: ab\r\nContent-Length: 7\r\n\r\n{"a":1}',
    0,
  ],
  ['without a first line', 'x-signature: ab\n\n{"a":1}', 0],
  ['with a line break added by an editor', 'X-Signature: ab\ncontent-length: 7\n\n{"a":1}\n', 1],
])('a captured request %s is parsed into headers and body', (_, text, leftOver) => {
  const request = parseRequest(Buffer.from(text));
  expect([request.headers['x-signature'], request.body.toString(), request.leftOver]).toEqual([
    'ab',
    '{"a":1}',
    leftOver,
  ]);
});

test.each([
  ['X-Signature: ab\n{"a":1}', 'There must be an empty line'],
  ['X-Signature: ab\nContent-Length: 70\n\n{"a":1}', 'truncated'],
  ['X-Signature: ab\nnonsense\n\n{"a":1}', 'Line 2 of the request'],
])('the text %j is refused as a request', (text, why) => {
  expect(() => parseRequest(Buffer.from(text))).toThrow(why);
});
