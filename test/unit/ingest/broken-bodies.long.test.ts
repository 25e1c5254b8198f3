import { hash, randomBytes } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { randomOf } from '../../../tools/harness/random';
import { metrics } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';
import { seedOf } from '../../support/cases';
import { aSource } from '../../support/fakes';
import { aBrokenBatch } from '../../support/broken-batches';
import { aWriteKey } from '../../support/write-key';
import { basic, startTestIngest, type TestIngest } from './start';

/** What ingest answers to broken bodies, and what it stores of them. */

let ingest: TestIngest;
beforeAll(async () => {
  ingest = await startTestIngest();
  ingest.config.add(aSource({ id: 'src_2', writeKeys: [aWriteKey('key-2')] }));
});
beforeEach(() => (ingest.producer.appends.length = 0));
afterAll(() => ingest.stop());

const call = (event: string, more: object = {}) =>
  JSON.stringify({ type: 'track', userId: 'u', event, ...more });
const A = call('A');
const B = call('B');
const NAN =
  '{"type":"track","userId":"u","event":"n","properties":{"a":NaN,"b":[-Infinity,"NaN"]}}';
const DEEP = `{"type":"track","userId":"u","event":"d","properties":{"a":${'['.repeat(150)}${']'.repeat(150)}}}`;
const messages = () => ingest.producer.values('messages');
const events = () => messages().map(({ event }) => event);
/** the rows of the debugger */
const losses = () => ingest.producer.values('messages.rejected');
async function countOf(code: string): Promise<number> {
  const line = new RegExp(
    `^waypost_messages_rejected_total\\{[^}]*reason="${code}"[^}]*\\} (\\d+)`,
    'm',
  );
  return Number(line.exec(await renderMetrics(metrics))?.[1] ?? 0);
}

describe('one fault in a batch spoils no neighbour', () => {
  test.each([
    ['a comma before the first call', `{"batch":[,${A},${B}]}`, []],
    ['a missing comma', `{"batch":[${A}${B}]}`, []],
    ['two envelopes', `{"batch":[${A}],"sentAt":"x"}{"batch":[${B}],"writeKey":"key-1"}`, []],
    ['no start', `{"a":1}},${A},${B}],"sentAt":"x","writeKey":"key-1"}`, ['unreadable']],
    ['no end', `{"batch":[${A},${B},{"type":"tra`, ['unreadable']],
    ['a call nested 150 levels deep', `{"batch":[${A},${DEEP},${B}]}`, ['too_deep']],
    ['a context that is a text', `{"batch":[${A},${B}],"context":"x"}`, ['invalid_envelope']],
    ['a call that is no JSON', `{"batch":[${A},{"type":track},${B}]}`, ['unreadable']],
    [
      'a byte between two calls that is not UTF-8',
      `{"batch":[${A},\xe9,${B}]}`,
      ['invalid_encoding'],
    ],
    [
      'a call of bytes that are not UTF-8',
      `{"batch":[${A},{"a":"\xe9"},${B}]}`,
      ['invalid_encoding'],
    ],
  ])('%s', async (_, body, codes) => {
    const answer = await ingest.post('/v1/batch', Buffer.from(body, 'latin1'));
    expect(answer.status).toBe(200);
    expect(events()).toEqual(['A', 'B']);
    expect(losses().map(({ code }) => code)).toEqual(codes);
    for (const loss of losses()) {
      expect(loss).toMatchObject({ source: 'src_1', call: expect.stringMatching(/^[{[\\]/) });
    }
  });

  test.each([
    ['/v1/batch', `{"batch":[${NAN}]}`],
    ['/v1/track', NAN],
    ['/v1/t', `\0${NAN}\0`],
  ])('POST %s reads NaN and Infinity as null, and leaves them in texts', async (path, body) => {
    expect(await ingest.post(path, body)).toMatchObject({ status: 200, body: { success: true } });
    expect(messages()).toMatchObject([{ event: 'n', properties: { a: null, b: [null, 'NaN'] } }]);
  });

  test('the response names each lost call, and the debugger shows its first bytes', async () => {
    const bad = `{"type":track,"writeKey":"key-1","pad":"${'é'.repeat(3_000)}"}`;
    const answer = await ingest.post('/v1/batch', `{"batch":[${A},${bad},,${B},"x"]`);
    expect(answer.body).toEqual({
      success: true,
      rejected: [
        { index: 1, code: 'unreadable', message: expect.any(String) },
        { index: 3, code: 'invalid_call', message: expect.any(String) },
      ],
    });
    expect(losses()).toMatchObject([
      {
        code: 'unreadable',
        truncated: true,
        call: expect.stringMatching(/^{"type":track,"writeKey":"","pad":"é+$/),
      },
      { code: 'invalid_call', call: '"x"' },
    ]);
  });

  const KEYED = '{"writeKey":"key-1"}';
  test.each([
    ['a body, by the header', '', 'no JSON with key-1', basic('key-1'), 'no JSON with '],
    ['a body, by the query', '?writeKey=key-1', 'with key-1', { authorization: '' }, 'with '],
    ['a body, by its text', '', `key-1${KEYED}`, { authorization: '' }, '{"writeKey":""}'],
    ['a call, by the header', '', `{"batch":[${A},{key-1}]}`, basic('key-1'), '{}'],
    [
      'a call, by its envelope',
      '',
      `{"writeKey":"key-1","batch":[${A},{key-1}]}`,
      { authorization: '' },
      '{}',
    ],
  ])('the debugger shows no write key that is known: %s', async (_, query, body, headers, call) => {
    await ingest.post(`/v1/batch${query}`, body, headers);
    expect(losses()).toMatchObject([{ call }]);
  });

  test('every loss is counted by its code', async () => {
    const before = await countOf('unreadable');
    await ingest.post('/v1/batch', `{"batch":[${A},{x},{y}]`);
    await ingest.post('/v1/batch', 'no JSON');
    expect((await countOf('unreadable')) - before).toBe(3);
  });
});

describe('the envelopes of a broken body', () => {
  test('of another source are rejected, call by call', async () => {
    const body = `{"batch":[${A}],"writeKey":"key-1"}{"batch":[${B},${B}],"writeKey":"key-2"}{"batch":[${call('C')}]}`;
    const answer = await ingest.post('/v1/batch', body);
    expect(answer.body).toMatchObject({
      rejected: [1, 2].map((index) => ({ index, code: 'other_write_key' })),
    });
    expect(events()).toEqual(['A', 'C']);
    expect(losses()).toMatchObject([{ call: { event: 'B' } }, { call: { event: 'B' } }]);
  });

  test('name the source if the header does not; its older key is no other source', async () => {
    ingest.config.add(
      aSource({ id: 'src_3', writeKeys: [aWriteKey('key-3'), aWriteKey('key-3-old')] }),
    );
    const body = `{"batch":[${A}]}{"batch":[${B}],"writeKey":"key-3"}{"batch":[${A}],"writeKey":"key-3-old"}`;
    expect(await ingest.post('/v1/batch', body, { authorization: '' })).toMatchObject({
      status: 200,
    });
    expect(events()).toEqual(['A', 'B', 'A']);
  });

  test.each([
    ['a comma too many', `{"writeKey":"key-2","batch":[,${A}]}`],
    ['a missing comma', `{"writeKey":"key-2" "batch":[${A}]}`],
    ['a NUL in place of a comma', `{"writeKey":"key-2"\0"batch":[${A}]}`],
    ['a bracket too many', `{"batch":[${A}],"writeKey":"key-2"}}`],
    ['a comma behind it', `{"batch":[${A}],"writeKey":"key-2"},`],
    ['a member behind a bracket too many', `{"batch":[${A}]},"writeKey":"key-2"}`],
    ['nothing behind its key', `{"batch":[${A}],"writeKey":"key-2"`],
  ])('of another source are rejected with %s', async (_, body) => {
    expect(await ingest.post('/v1/batch', body)).toMatchObject({
      status: 200,
      body: {
        rejected: [
          {
            index: 0,
            code: 'other_write_key',
            message: 'The `writeKey` of the envelope of this call is no key of this source.',
          },
        ],
      },
    });
    expect(messages()).toEqual([]);
  });

  test.each([
    ['NaN', `{"batch":[${NAN},${A}],"writeKey":"key-2"}`],
    ['a call that is too deep', `{"batch":[${DEEP},${A}],"writeKey":"key-2"}`],
    ['another encoding', `{"batch":[{"a":"\xe9"},${A}],"writeKey":"key-2"}`],
    ['too many keys', `{"batch":[{${'"a":1,'.repeat(50_001)}"b":2},${A}],"writeKey":"key-2"}`],
  ])('of another source are rejected if JSON is valid but for %s', async (_, body) => {
    const answer = await ingest.post('/v1/batch', Buffer.from(body, 'latin1'));
    expect(answer.body).toMatchObject({
      rejected: expect.arrayContaining([
        { index: 1, code: 'other_write_key', message: expect.any(String) },
      ]),
    });
    expect(messages()).toEqual([]);
  });

  test('names another source in a whole body, also with many different keys', async () => {
    const batch = Array.from({ length: 1_000 }, (_, i) => {
      const keys = Array.from({ length: 20 }, (_unused, key) => [`${i}-${key}`, 1]);
      return {
        type: 'track',
        userId: 'u',
        event: 'A',
        properties: Object.fromEntries(keys) as object,
      };
    });
    const body = JSON.stringify({ batch, writeKey: 'key-2' });
    expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    expect(messages()).toHaveLength(1_000);
  });

  test.each([
    ['is cut off', `{"batch":[${A},${B}],"integrations":{"All":fal`],
    ['is cut off before its value', `{"batch":[${A},${B}],"integrations":`],
    ['has a fault', `{"batch":[${A},${B}],"integrations":{"All":"fal"se"},"sentAt":"s"}`],
    ['has a fault before the calls', `{"integrations":{"All":"fal"se"},"batch":[${A},${B}]}`],
    ['has another encoding', `{"batch":[${A},${B}],"integrations":{"a":"\xe9"}}`],
  ])('whose `integrations` %s reject their calls', async (_, body) => {
    const answer = await ingest.post('/v1/batch', Buffer.from(body, 'latin1'));
    expect(messages()).toEqual([]);
    const { rejected } = answer.body as { rejected: { code: string; message: string }[] };
    const own = rejected.filter(({ code }) => code !== 'unreadable');
    expect(own).toEqual(
      [A, B].map(() => ({
        index: expect.any(Number),
        code: 'invalid_envelope',
        message: '`integrations` of the envelope cannot be read.',
      })),
    );
  });

  test.each([
    ['a space', ' '],
    ['a NUL', '\0'],
  ])('keep their members with %s in place of a comma', async (_, between) => {
    const members = ['"integrations":{"All":false}', '"context":{"a":1}', `"batch":[${A},${B}]`];
    expect(await ingest.post('/v1/batch', `{${members.join(between)}}`)).toMatchObject({
      body: { success: true },
    });
    const own = { integrations: { All: false }, context: { a: 1 } };
    expect(messages()).toMatchObject([own, own]);
  });

  test('lose a `context` that is cut off, and the debugger shows it', async () => {
    await ingest.post('/v1/batch', `{"batch":[${A}],"context":{"a":"b`);
    expect(events()).toEqual(['A']);
    expect(losses()).toMatchObject([
      {
        code: 'invalid_envelope',
        message: expect.stringMatching(/^`context` of the envelope cannot be read/),
        call: '{"a":"b',
      },
    ]);
  });

  test('give their calls their own context and time', async () => {
    const sentAt = '2026-11-21T08:00:07Z';
    const timestamp = '2026-11-21T08:00:00Z';
    const timed = call('B', { timestamp });
    const body = `{"context":{"a":1},"batch":[${A}],"sentAt":"x"}{"batch":[${timed}],"sentAt":"${sentAt}"}{"batch":[${timed}`;
    await ingest.post('/v1/batch', body);
    const [first, second, third] = messages();
    expect(first).toMatchObject({ context: { a: 1 } });
    expect(second).not.toHaveProperty('context');
    expect(Date.parse(String(second!.receivedAt)) - Date.parse(String(second!.timestamp))).toBe(
      7_000,
    );
    expect(third).toMatchObject({ timestamp: '2026-11-21T08:00:00.000Z' });
  });
});

describe('a body of which no call can be read', () => {
  test.each([
    ['/v1/batch', '{"batch":[{"type"', 'invalid_json', 'unreadable'],
    ['/v1/batch', 'data=eyJ9', 'invalid_json', 'unreadable'],
    ['/v1/batch', `[${A},,${B}]`, 'invalid_json', 'unreadable'],
    ['/v1/batch', `{"batch":[${DEEP}]}`, 'too_deep', 'too_deep'],
    ['/v1/track', '{"type":"track"', 'invalid_json', 'unreadable'],
    ['/v1/track', '{"event":"\xe9"}', 'invalid_encoding', 'invalid_encoding'],
    ['/v1/batch', '{}', 'missing_batch', 'missing_batch'],
  ])('POST %s %s gets 400 %s, and stands in the debugger', async (path, body, code, row) => {
    expect(await ingest.post(path, Buffer.from(body, 'latin1'))).toMatchObject({
      status: 400,
      body: { code },
    });
    expect(messages()).toEqual([]);
    const shown = body.slice(0, 4_096).replace('\xe9', '\\xE9');
    expect(losses()).toMatchObject([{ source: 'src_1', code: row, call: shown }]);
  });

  test('whose key is only in its text stands in the debugger of that source', async () => {
    const none = { authorization: '' };
    expect(await ingest.post('/v1/track', '{"writeKey":"key-2","event', none)).toMatchObject({
      status: 400,
    });
    expect(losses()).toMatchObject([{ source: 'src_2', call: '{"writeKey":"","event' }]);
    expect(await ingest.post('/v1/track', '{"writeKey":"nobody","event', none)).toMatchObject({
      status: 400,
    });
    expect(losses()).toHaveLength(1);
  });
});

describe('a body that cannot be used at all', () => {
  const gzip = { 'content-encoding': 'gzip' };
  const named = `{"writeKey":"key-2","batch":[${A}`;
  const long = `${named},${`${B},`.repeat(20_000)}${B}]}`;
  const noise = randomBytes(600_000).toString('base64');
  const withBrokenChecksum = (text: string) => {
    const body = gzipSync(text);
    return body.fill(0, body.length - 8);
  };
  const broken = withBrokenChecksum(`${named}]}`);
  const escaped = (bytes: Buffer) =>
    bytes
      .toString('latin1')
      .replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const begins = `{"writeKey":"","batch":[${A}`;

  test.each<[string, Buffer, Record<string, string>, number, string, string]>([
    ['too large', Buffer.from(long), {}, 400, 'body_too_large', begins],
    ['too large when inflated', gzipSync(long), gzip, 400, 'body_too_large', begins],
    [
      'too large before it is inflated',
      gzipSync(`${named}${noise}`),
      gzip,
      400,
      'body_too_large',
      begins,
    ],
    ['of a broken gzip', broken, gzip, 400, 'invalid_encoding', begins],
    ['plain where gzip is named', Buffer.from(`${named}]}`), gzip, 400, 'invalid_encoding', begins],
    [
      'of an encoding that is not read',
      brotliCompressSync(named),
      { 'content-encoding': 'br' },
      415,
      'unsupported_encoding',
      escaped(brotliCompressSync(named).subarray(0, 12)),
    ],
  ])('%s is counted, and stands in the debugger', async (_, body, headers, status, code, row) => {
    const before = await countOf(code);
    expect(await ingest.post('/v1/batch', body, headers)).toMatchObject({
      status,
      body: { success: false, code },
    });
    expect((await countOf(code)) - before).toBe(1);
    expect(losses()).toMatchObject([{ source: 'src_1', code }]);
    const { call: shown, truncated } = losses()[0]!;
    expect(String(shown).slice(0, row.length)).toBe(row);
    expect(shown).not.toContain('key-2');
    if (code === 'body_too_large') expect(truncated).toBe(true);
  });

  test('is charged to the source whose key its beginning names', async () => {
    const none = { authorization: '' };
    for (const [body, headers] of [
      [long, none],
      [gzipSync(long), { ...none, ...gzip }],
      [broken, { ...none, ...gzip }],
    ] as const) {
      expect(await ingest.post('/v1/batch', body, headers)).toMatchObject({ status: 400 });
      expect(losses()).toMatchObject([{ source: 'src_2' }]);
      ingest.producer.appends.length = 0;
    }
    expect(
      await ingest.post('/v1/batch', withBrokenChecksum('nobody'), { ...none, ...gzip }),
    ).toMatchObject({ status: 400 });
    expect(losses()).toEqual([]);
  });

  test('that is too large when its text is decoded shows that text', async () => {
    const text = `{"event":"Zoë","pad":"${'\x80'.repeat(200_000)}"}`;
    await ingest.post('/v1/track', Buffer.from(text, 'latin1'), {
      'content-type': 'a/b; charset=windows-1252',
    });
    expect(losses()).toMatchObject([
      { code: 'body_too_large', call: expect.stringMatching(/^{"event":"Zoë","pad":"€/) },
    ]);
  });
});

describe('a gzip that is cut off', () => {
  const gzip = { 'content-encoding': 'gzip' };

  test('is read as far as it inflates: whole calls are accepted, the cut one is lost', async () => {
    const texts = Array.from({ length: 200 }, (_, i) =>
      call(`E${String(i)}`, { messageId: `m${String(i)}`, pad: hash('sha512', String(i)) }),
    );
    const whole = gzipSync(`{"batch":[${texts.join()}]}`);
    const answer = await ingest.post(
      '/v1/batch',
      whole.subarray(0, Math.floor(whole.length / 2)),
      gzip,
    );
    expect(answer.status).toBe(200);
    const count = events().length;
    expect(count).toBeGreaterThan(50);
    expect(count).toBeLessThan(150);
    expect(events()).toEqual(texts.slice(0, count).map((_, i) => `E${String(i)}`));
    expect(answer.body).toMatchObject({ rejected: [{ index: count, code: 'unreadable' }] });
    const lost = losses();
    expect(lost).toMatchObject([{ code: 'unreadable', call: expect.stringMatching(/^\{"type":/) }]);
    expect(texts[count]).toContain(lost[0]?.call);
  });

  test.each([
    ['its checksum', 8],
    ['a part of its checksum', 3],
  ])('before %s loses nothing', async (_, bytes) => {
    const body = gzipSync(`{"batch":[${A},${B}]}`).subarray(0, -bytes);
    expect(await ingest.post('/v1/batch', body, gzip)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(events()).toEqual(['A', 'B']);
  });

  test.each([
    ['before its text', 12],
    ['in its head', 5],
    ['in a single call', -30],
  ])('%s is refused, and stands in the debugger', async (_, to) => {
    const body = gzipSync(call('A', { pad: randomBytes(40).toString('hex') })).subarray(0, to);
    expect(await ingest.post('/v1/track', body, gzip)).toMatchObject({
      status: 400,
      body: { code: 'invalid_json' },
    });
    expect(losses()).toMatchObject([{ source: 'src_1', code: 'unreadable' }]);
  });
});

describe('the text of a body', () => {
  const zoe = '{"type":"track","userId":"u","event":"Zoë"}';

  test.each<[string, Buffer, Record<string, string>]>([
    [
      'Latin-1 by its charset',
      Buffer.from(zoe, 'latin1'),
      { 'content-type': 'application/json; charset=iso-8859-1' },
    ],
    [
      'Windows-1252 by its charset',
      Buffer.from(zoe, 'latin1'),
      { 'content-type': 'text/plain;charset=windows-1252' },
    ],
    ['UTF-16 by its mark', Buffer.from(`\ufeff${zoe}`, 'utf16le'), {}],
    [
      'UTF-16 by its charset',
      Buffer.from(zoe, 'utf16le').swap16(),
      { 'content-type': 'a/b; charset=utf-16be' },
    ],
    [
      'gzipped Latin-1',
      gzipSync(Buffer.from(zoe, 'latin1')),
      { 'content-type': 'a/b; charset=latin1' },
    ],
    ['gzip without its header', gzipSync(zoe), {}],
    ['with the encoding utf-8', Buffer.from(zoe), { 'content-encoding': 'utf-8' }],
    ['with the encoding UTF8', Buffer.from(zoe), { 'content-encoding': ' UTF8 ' }],
    ['with the encodings gzip, utf-8', gzipSync(zoe), { 'content-encoding': 'gzip, utf-8' }],
    ['with the encoding identity', Buffer.from(zoe), { 'content-encoding': 'Identity' }],
  ])('is read: %s', async (_, body, headers) => {
    expect(await ingest.post('/v1/track', body, headers)).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(messages()).toMatchObject([{ event: 'Zoë' }]);
  });

  test('without a charset a call of other bytes is rejected, and none becomes U+FFFD', async () => {
    const body = Buffer.concat(
      [`{"batch":[${A},`, Buffer.from(zoe, 'latin1'), `,${zoe}]}`].map((part) => Buffer.from(part)),
    );
    const answer = await ingest.post('/v1/batch', body);
    expect(answer).toMatchObject({
      status: 200,
      body: { rejected: [{ index: 1, code: 'invalid_encoding' }] },
    });
    expect(events()).toEqual(['A', 'Zoë']);
    expect(losses()).toMatchObject([{ call: zoe.replace('ë', '\\xEB') }]);
  });
});

test('a body that becomes too large as UTF-8 is refused', async () => {
  const body = Buffer.from(`{"type":"track","pad":"${'\x80'.repeat(200_000)}"}`, 'latin1');
  expect(
    await ingest.post('/v1/track', body, { 'content-type': 'a/b; charset=windows-1252' }),
  ).toMatchObject({ status: 400, body: { code: 'body_too_large' } });
});

describe('an address with too many refusals', () => {
  const none = { authorization: '' };
  let limited: TestIngest;
  beforeAll(async () => {
    limited = await startTestIngest();
    for (let status = 0; status !== 429;) {
      ({ status } = await limited.post('/v1/track', '{}', { authorization: '' }));
    }
  });
  afterAll(() => limited.stop());

  test('is answered before its body is decoded', async () => {
    const decode = jest.spyOn(Buffer.prototype, 'swap16');
    const body = Buffer.from('\ufeff{"writeKey":"nobody"}', 'utf16le').swap16();
    decode.mockClear();
    expect(await limited.post('/v1/track', body, none)).toMatchObject({ status: 429 });
    expect(decode).not.toHaveBeenCalled();
    decode.mockRestore();
  });

  test.each(['utf-16le', 'utf-16be'])('may send a body in %s that names its key', async (name) => {
    const text = '{"type":"track","userId":"u","event":"e","writeKey":"key-1"}';
    const body = Buffer.from(text, 'utf16le');
    if (name === 'utf-16be') body.swap16();
    expect(
      await limited.post('/v1/track', body, { ...none, 'content-type': `a/b; charset=${name}` }),
    ).toMatchObject({ status: 200, body: { success: true } });
  });
});

test('of 300 broken bodies over HTTP each whole call is accepted once, no others', async () => {
  const seed = seedOf('FUZZ_SEED');
  const random = randomOf(seed);
  for (let i = 0; i < 300; i++) {
    ingest.producer.appends.length = 0;
    const { body, whole } = aBrokenBatch(random);
    const zipped = random.next() < 0.3;
    const { status } = await ingest.post(
      '/v1/batch',
      zipped ? gzipSync(body) : body,
      zipped ? { 'content-encoding': 'gzip' } : {},
    );
    const ids = messages().map(({ messageId }) => messageId);
    expect({ seed, i, status, ids }).toEqual({
      seed,
      i,
      status: whole.length === 0 ? 400 : 200,
      ids: whole,
    });
  }
});

test('valid JSON is read once: its envelope may name another key than the header', async () => {
  const body = `{"batch":[${A}],"writeKey":"key-2"}`;
  expect(await ingest.post('/v1/batch', body, basic('key-1'))).toMatchObject({
    status: 200,
    body: { success: true },
  });
  expect(events()).toEqual(['A']);
});

test('a refused body is answered while Kafka stores nothing, to discard its rest', async () => {
  let store = (): void => undefined;
  const stored = new Promise<void>((resolve) => (store = resolve));
  const producer = { ...ingest.producer, send: () => stored };
  const waiting = await startTestIngest({ producer, responseDeadlineMs: 600_000 });
  try {
    expect(await waiting.post('/v1/track', 'no JSON')).toMatchObject({ status: 400 });
  } finally {
    store();
    await waiting.stop();
  }
});
