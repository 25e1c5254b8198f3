import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type EndpointResponse } from '../../../../services/delivery/http/exchange';
import { batchBytes, joinBodies } from '../../../../services/delivery/batches/join-bodies';
import { failedMembers } from '../../../../services/delivery/batches/failed-members';

const bodies = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test.each([
  [['{"a":1}'], '[{"a":1}]'],
  [['{"a":1}', '{"a" : 2}', '3'], '[{"a":1},{"a" : 2},3]'],
])('the bodies %j are joined to the bytes %s', (texts, joined) => {
  const array = joinBodies(bodies(...texts));
  expect(array.toString()).toBe(joined);
  expect(batchBytes(texts.length, texts.join('').length)).toBe(array.length);
});

test.each<[string, [index: number, status: number][] | undefined]>([
  [
    '{"failed":[{"index":3,"status":503},{"index":0,"status":400}]}',
    [
      [3, 503],
      [0, 400],
    ],
  ],
  ['{"failed":[{"index":1,"status":404,"message":"unknown user"}],"accepted":3}', [[1, 404]]],
  ['{"failed":[]}', []],
  ['', []],
  ['ok', []],
  ['{"failed":[{"index":3', undefined],
  ['{"failed":3}', []],
  ['{"failed":[{"index":4,"status":503}]}', []],
  ['{"failed":[{"index":-1,"status":503}]}', []],
  ['{"failed":[{"index":"1","status":503}]}', []],
  ['{"failed":[{"index":1}]}', []],
  ['{"failed":[{"index":1,"status":99}]}', []],
  ['{"failed":[{"index":1,"status":600}]}', []],
  ['{"failed":[null]}', []],
  ['[{"failed":[{"index":1,"status":503}]}]', []],
])('the response %s to a batch of four names %j as failed', (body, failed) => {
  const named = failedMembers({ headers: {}, body: Buffer.from(body), truncated: false }, 4);
  expect(named && [...named]).toEqual(failed);
});

const FAILED = '{"failed":[{"index":1,"status":503}]}';
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const bomb = gzipSync(Buffer.alloc(1024 * 1024, ' '));

test.each<
  [
    name: string,
    headers: EndpointResponse['headers'],
    body: string | Buffer,
    truncated: boolean,
    named: unknown,
  ]
>([
  ['gzip', { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(FAILED), false, [[1, 503]]],
  ['gzip without a type', { 'content-encoding': 'GZIP' }, gzipSync(FAILED), false, [[1, 503]]],
  [
    'deflate',
    { ...JSON_TYPE, 'content-encoding': 'deflate' },
    deflateSync(FAILED),
    false,
    [[1, 503]],
  ],
  ['br', { ...JSON_TYPE, 'content-encoding': 'br' }, brotliCompressSync(FAILED), false, [[1, 503]]],
  ['identity', { ...JSON_TYPE, 'content-encoding': 'identity' }, FAILED, false, [[1, 503]]],
  ['gzip that is none', { ...JSON_TYPE, 'content-encoding': 'gzip' }, FAILED, false, undefined],
  [
    'gzip that is cut',
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    gzipSync(FAILED).subarray(0, 20),
    true,
    undefined,
  ],
  [
    'gzip that grows without end',
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    bomb,
    false,
    undefined,
  ],
  [
    'an unknown compression',
    { ...JSON_TYPE, 'content-encoding': 'rot13' },
    FAILED,
    false,
    undefined,
  ],
  [
    'an unknown compression of HTML',
    { 'content-type': 'text/html', 'content-encoding': 'rot13' },
    'x',
    false,
    [],
  ],
  ['JSON that is cut', JSON_TYPE, FAILED.slice(0, -3), true, undefined],
  ['JSON of which nothing came', JSON_TYPE, '', true, undefined],
  ['JSON that is broken', JSON_TYPE, 'ok', false, undefined],
  ['an empty body that says JSON', JSON_TYPE, '', false, []],
  ['a line feed that says JSON', JSON_TYPE, '\r\n', false, []],
  ['JSON behind a byte order mark', JSON_TYPE, `\ufeff${FAILED}`, false, [[1, 503]]],
  [
    'a compression that is named twice',
    { ...JSON_TYPE, 'content-encoding': ['gzip', 'gzip'] },
    gzipSync(FAILED),
    false,
    undefined,
  ],
  [
    'a type that is named twice',
    { 'content-type': ['application/json', 'application/json'] },
    FAILED,
    false,
    [[1, 503]],
  ],
  ['a text that is cut', { 'content-type': 'text/plain' }, '{"failed"', true, []],
  ['a page that is too long', {}, '<html>', true, []],
])(
  'of %s, a batch knows which members it names, or that it cannot know',
  (_, headers, body, truncated, named) => {
    const found = failedMembers({ headers, body: Buffer.from(body), truncated }, 4);
    expect(found && [...found]).toEqual(named);
  },
);
