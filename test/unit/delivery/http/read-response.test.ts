import { readResponse } from '../../../../services/delivery/http/read-response';

/** The tolerant reader of responses, in tables. */

const OK = 'HTTP/1.1 200 OK\r\n';
const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each<
  [name: string, text: string, status: number, body: string, isWhole: boolean, oddities: string[]]
>([
  ['a plain response', `${OK}content-length: 2\r\n\r\nok`, 200, 'ok', true, []],
  ['no reason', 'HTTP/1.1 204\r\n\r\n', 204, '', true, []],
  ['HTTP/1.0', 'HTTP/1.0 503 Busy\r\ncontent-length: 0\r\n\r\n', 503, '', true, []],
  [
    'a status that HTTP does not define',
    'HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n',
    999,
    '',
    true,
    [],
  ],
  ['empty lines before it', `\r\n\n\r\n${OK}content-length: 0\r\n\r\n`, 200, '', true, []],
  [
    '103 before it',
    `HTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\n${OK}content-length: 0\r\n\r\n`,
    200,
    '',
    true,
    [],
  ],
  [
    '100 before it',
    `HTTP/1.1 100 Continue\r\n\r\n${OK}content-length: 0\r\n\r\n`,
    200,
    '',
    true,
    ['interim'],
  ],
  [
    '8 before it',
    `${'HTTP/1.1 102 P\r\n\r\n'.repeat(8)}${OK}content-length: 0\r\n\r\n`,
    200,
    '',
    true,
    [],
  ],
  [
    'line feeds alone',
    'HTTP/1.1 200 OK\ncontent-length: 2\n\nok',
    200,
    'ok',
    true,
    ['header_syntax'],
  ],
  [
    'a folded header',
    `${OK}a: b\r\n c\r\ncontent-length: 0\r\n\r\n`,
    200,
    '',
    true,
    ['header_syntax'],
  ],
  [
    'a control character',
    `${OK}a: \x01\r\ncontent-length: 0\r\n\r\n`,
    200,
    '',
    true,
    ['header_syntax'],
  ],
  [
    'a NUL in the reason',
    'HTTP/1.1 200 O\0K\r\ncontent-length: 0\r\n\r\n',
    200,
    '',
    true,
    ['header_syntax'],
  ],
  [
    'a space in a name',
    `${OK}a b: c\r\ncontent-length: 0\r\n\r\n`,
    200,
    '',
    true,
    ['header_syntax'],
  ],
  [
    'a space before the colon',
    `${OK}content-length : 2\r\n\r\nok`,
    200,
    'ok',
    true,
    ['header_syntax'],
  ],
  [
    'a line without a colon',
    `${OK}hello\r\ncontent-length: 0\r\n\r\n`,
    200,
    '',
    true,
    ['header_syntax'],
  ],
  ['no name', `${OK}: x\r\ncontent-length: 0\r\n\r\n`, 200, '', true, ['header_syntax']],
  [
    'two equal lengths',
    `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nok`,
    200,
    'ok',
    true,
    ['content_length'],
  ],
  [
    'two lengths',
    `${OK}content-length: 1\r\nContent-Length: 2\r\n\r\nok`,
    200,
    'ok',
    false,
    ['content_length'],
  ],
  ['a negative length', `${OK}content-length: -5\r\n\r\nok`, 200, 'ok', false, ['content_length']],
  [
    'length and chunks',
    `${OK}content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    200,
    'ok',
    true,
    ['content_length'],
  ],
  ['a shorter body', `${OK}content-length: 9\r\n\r\nok`, 200, 'ok', false, []],
  ['a longer body', `${OK}content-length: 2\r\n\r\nok, and more`, 200, 'ok', true, ['extra_bytes']],
  [
    'a 204 with a body',
    'HTTP/1.1 204 X\r\ncontent-length: 2\r\n\r\nok',
    204,
    '',
    true,
    ['content_length'],
  ],
  [
    'chunks that are none',
    `${OK}transfer-encoding: chunked\r\n\r\nZZ\r\n`,
    200,
    '',
    false,
    ['chunk_syntax'],
  ],
  ['a chunk that is cut', `${OK}transfer-encoding: chunked\r\n\r\n9\r\nok`, 200, 'ok', false, []],
  ['headers without an end', `${OK}a: b\r\nretry-aft`, 200, '', false, []],
  ['a reason without an end', `HTTP/1.1 200 ${'x'.repeat(40_000)}`, 200, '', false, []],
  [
    'another status in its headers',
    `HTTP/1.1 500 X\r\nHTTP/1.1 200 OK\r\n\r\n`,
    500,
    '',
    false,
    ['header_syntax'],
  ],
  ['another status in its body', `HTTP/1.1 500 X\r\n\r\n${OK}\r\n`, 500, `${OK}\r\n`, false, []],
])('%s is read', (_, text, status, body, isWhole, oddities) => {
  const reading = readResponse(bytes(text));
  if (reading.kind !== 'answered') throw new Error(`it is ${reading.kind}`);
  expect([reading.status, reading.body.toString(), reading.isWhole, reading.oddities]).toEqual([
    status,
    body,
    isWhole,
    oddities,
  ]);
});

test.each([
  ['nothing', ''],
  ['empty lines alone', '\r\n\r\n\r\n'],
  ['a part of the status line', 'HTTP/1.1 2'],
  ['a status without a byte after it, which may be a digit', 'HTTP/1.1 200'],
  ['an interim response alone', 'HTTP/1.1 102 P\r\n\r\n'],
  ['an interim response whose headers hold a status', `HTTP/1.1 103 P\r\n${OK}a: b\r\n`],
])('%s is not finished', (_, text) =>
  expect(readResponse(bytes(text))).toEqual({ kind: 'unfinished' }),
);

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', 'byte 1 of the response (0x53)'],
  ['HTTP/0.9', 'hello', 'byte 1 of the response (0x68)'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n', 'byte 13 of the response (0x30)'],
  ['a status that is no number', 'HTTP/1.1 2x0 OK\r\n', 'byte 11 of the response (0x78)'],
  ['a NUL between', 'HTTP\0/1.1 200 OK\r\n', 'byte 5 of the response (0x00)'],
  ['a status of 000', 'HTTP/1.1 000 X\r\n', '000 is no status of HTTP'],
  ['a switch', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'another protocol (101)'],
  ['9 interim responses', 'HTTP/1.1 102 P\r\n\r\n'.repeat(9), 'more than 8 interim responses'],
  [
    '9 interim responses and a status',
    `${'HTTP/1.1 102 P\r\n\r\n'.repeat(9)}${OK}`,
    'more than 8 interim responses',
  ],
  ['HTTP/2', '\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03', 'speaks HTTP/2 only'],
  ['TLS', '\x15\x03\x01\x00\x02\x02\x46', 'speaks TLS here'],
  [
    'an interim response without end',
    `HTTP/1.1 103 P\r\n${'a:\n'.repeat(65)}`,
    'an interim response of more than 64 lines',
  ],
  ['empty lines without end', '\r\n'.repeat(40), 'byte 65 of the response (0x0d)'],
  ['a text before the status', `hello\r\n${OK}\r\n`, 'byte 1 of the response (0x68)'],
])('%s cannot be read, and the reason says why', (_, text, why) => {
  expect(readResponse(bytes(text))).toEqual({
    kind: 'unreadable',
    why: expect.stringContaining(why) as string,
  });
});

test('headers keep their values, doubled ones as a list, and none reaches the prototype', () => {
  const reading = readResponse(
    bytes(`${OK}Retry-After: 5\r\nx: 1\r\nX: 2\r\n__proto__: y\r\n\r\n`),
  );
  const headers = Object.entries(reading.kind === 'answered' ? reading.headers : {});
  expect(headers).toEqual([
    ['retry-after', '5'],
    ['x', ['1', '2']],
    ['__proto__', 'y'],
  ]);
});
