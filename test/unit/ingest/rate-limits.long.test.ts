import { request as httpRequest } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { AppError } from '../../../shared/runtime/errors';
import { eventually } from '../../support/eventually';
import { basic, gzipped, rawSocket, startTestIngest, type TestIngest } from './start';

let ingest: TestIngest;
beforeEach(async () => (ingest = await startTestIngest({ responseDeadlineMs: 300 })));
afterEach(() => ingest.stop());

const track = { type: 'track', userId: 'u', event: 'e', messageId: 'm' };
const body = { batch: [track] };
const GZIP = { 'content-encoding': 'gzip' };

/** Returns a batch of small calls, of exactly the given number of bytes. */
function batchOf(bytes: number): string {
  const call = JSON.stringify({ ...track, properties: { pad: 'x'.repeat(900) } });
  const calls = Array.from({ length: Math.floor((bytes - 2_000) / (call.length + 1)) }, () => call);
  const text = `{"batch":[${calls.join(',')}],"sentAt":""}`;
  return text.replace('""}', `"${'x'.repeat(bytes - text.length)}"}`);
}

function withBrokenChecksum(raw: Buffer): Buffer {
  return raw.fill(0, raw.length - 8);
}

describe('the encoding of a body', () => {
  test.each([
    ['gzip', gzipped(body), GZIP],
    ['GZIP', gzipped(body), { 'content-encoding': 'GZIP' }],
    ['x-gzip', gzipped(body), { 'content-encoding': 'x-gzip' }],
    ['identity', JSON.stringify(body), { 'content-encoding': 'identity' }],
    [
      'gzip in two parts',
      Buffer.concat([gzipped('{"batch":'), gzipped(`[${JSON.stringify(track)}]}`)]),
      GZIP,
    ],
  ])('ingest accepts a body of this encoding: %s', async (_, raw, headers) => {
    expect(await ingest.post('/v1/batch', raw, headers)).toMatchObject({ status: 200 });
    expect(ingest.producer.values('messages')).toHaveLength(1);
  });

  test.each([
    ['plain text instead of gzip', JSON.stringify(body), GZIP, 'invalid_encoding'],
    ['half of a gzip, without a whole call', gzipped(body).subarray(0, 40), GZIP, 'invalid_json'],
    ['gzip with a broken checksum', withBrokenChecksum(gzipped(body)), GZIP, 'invalid_encoding'],
    ['an empty text instead of gzip', '', GZIP, 'invalid_json'],
    ['brotli', brotliCompressSync('{}'), { 'content-encoding': 'br' }, 'unsupported_encoding'],
    [
      'gzip twice',
      gzipSync(gzipped(body)),
      { 'content-encoding': 'gzip, gzip' },
      'unsupported_encoding',
    ],
  ])('ingest refuses a body of this encoding: %s', async (_, raw, headers, code) => {
    const status = code === 'unsupported_encoding' ? 415 : 400;
    expect(await ingest.post('/v1/batch', raw, headers)).toMatchObject({
      status,
      body: { success: false, code },
    });
  });

  test('ingest accepts a chunked body', async () => {
    const answer = await new Promise<number | undefined>((resolve) => {
      const req = httpRequest(
        `${ingest.url}/v1/import`,
        { method: 'POST', headers: basic('key-1') },
        (res) => resolve(res.resume().statusCode),
      );
      for (const part of JSON.stringify(body).match(/.{1,7}/g)!) req.write(part);
      req.end();
    });
    expect(answer).toBe(200);
    expect(ingest.producer.values('messages')).toHaveLength(1);
  });
});

describe('the size of a body', () => {
  test.each([
    [512_000, 200],
    [512_001, 400],
  ])('a batch of %i bytes gets %i, plain and gzipped', async (bytes, status) => {
    const text = batchOf(bytes);
    expect(text).toHaveLength(bytes);
    for (const [raw, headers] of [
      [text, {}],
      [gzipped(text), GZIP],
    ] as const) {
      const answer = await ingest.post('/v1/batch', raw, headers);
      expect(answer.status).toBe(status);
      if (status === 400) {
        expect(answer.body).toMatchObject({ success: false, code: 'body_too_large' });
      }
    }
  });

  test('a gzip bomb is inflated no further than the limit', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(512_000);
    const before = process.memoryUsage().rss;
    const answer = await ingest.post('/v1/batch', bomb, GZIP);
    expect(answer).toMatchObject({ status: 400, body: { code: 'body_too_large' } });
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
  });

  test.each([
    ['with its length', false],
    ['chunked', true],
  ])(
    'a refusal of 10 MB (%s) arrives while the client still sends, and the connection stays usable',
    async (_, chunked) => {
      const { socket, received } = rawSocket(ingest.port);
      const head = 'POST /v1/batch HTTP/1.1\r\nHost: x\r\n';
      const part = Buffer.alloc(64 * 1024, 'x');
      socket.write(
        `${head}${chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${160 * part.length}`}\r\n\r\n`,
      );
      for (let i = 0; i < 160; i++) {
        socket.write(
          chunked ? Buffer.concat([Buffer.from('10000\r\n'), part, Buffer.from('\r\n')]) : part,
        );
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (chunked) socket.write('0\r\n\r\n');
      await eventually(() => expect(received()).toMatch(/^HTTP\/1.1 400 .*body_too_large/s));
      socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually(() => expect(received()).toMatch(/HTTP\/1.1 404 /));
      socket.destroy();
    },
  );

  test('a body without end is refused, and its connection is closed', async () => {
    const { socket, received, closed } = rawSocket(ingest.port);
    socket.write('POST /v1/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(1024 * 1024, 'x'),
      Buffer.from('\r\n'),
    ]);
    while (!socket.destroyed) {
      if (!socket.write(chunk)) {
        await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(received()).toMatch(/^HTTP\/1.1 400 .*body_too_large/s);
  });
});

describe('when Kafka does not answer', () => {
  test.each([
    ['overloaded', new AppError('overloaded', 'full', true), 'overloaded', '1'],
    ['away', new AppError('kafka_unavailable', 'gone', true), 'kafka_unavailable', '2'],
    [
      'failing for another reason',
      new Error('secret internals at line 5'),
      'kafka_unavailable',
      '2',
    ],
  ])(
    'calls that are not stored get 503 with Retry-After while Kafka is %s',
    async (_, error, code, retryAfter) => {
      ingest.producer.behave = () => Promise.reject(error);
      const answer = await ingest.post('/v1/batch', body);
      expect(answer).toMatchObject({ status: 503, body: { success: false, code } });
      expect(answer.headers.get('retry-after')).toBe(retryAfter);
      expect(JSON.stringify(answer.body)).not.toContain('internals');
    },
  );

  test('a call is acknowledged only when stored, or answered at the deadline', async () => {
    let store = () => {};
    ingest.producer.behave = () => new Promise((resolve) => (store = resolve));
    let answered = false;
    const first = ingest.post('/v1/batch', body).finally(() => (answered = true));
    await eventually(() => expect(ingest.producer.appends).toHaveLength(1));
    ingest.producer.behave = () => Promise.resolve();
    expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    expect(answered).toBe(false);
    store();
    expect(await first).toMatchObject({ status: 200 });

    ingest.producer.behave = () => new Promise(() => undefined);
    expect(await ingest.post('/v1/batch', body)).toMatchObject({
      status: 503,
      body: { code: 'kafka_unavailable' },
    });
  });

  test('a batch is stored without its rejected call if Kafka refuses their topic', async () => {
    ingest.producer.behave = (records) =>
      records.some(({ topic }) => topic === 'messages.rejected')
        ? Promise.reject(
            new AppError('kafka_refused', 'Kafka takes no records for messages.rejected', true),
          )
        : Promise.resolve();
    expect(await ingest.post('/v1/batch', { batch: [track, {}] })).toMatchObject({ status: 200 });
    expect(ingest.producer.values('messages')).toHaveLength(1);
  });

  test('a rejected call is stored before its sender gets the response', async () => {
    ingest.producer.behave = () => Promise.reject(new AppError('kafka_unavailable', 'gone', true));
    expect(await ingest.post('/v1/batch', { batch: [{}] })).toMatchObject({ status: 503 });
  });
});

describe('a request that is not valid HTTP', () => {
  test.each([
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['nonsense', 'HELLO\r\n\r\n', 400, 'invalid_request'],
    [
      'a line break in a header',
      'POST /v1/t HTTP/1.1\r\nHost: x\r\nX-Split: a\nInjected: b\rc\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'a null byte in a header',
      'POST /v1/t HTTP/1.1\r\nHost: x\r\nX-Null: a\0b\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'two lengths',
      'POST /v1/t HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
      400,
      'invalid_request',
    ],
    [
      'a broken chunk',
      'POST /v1/t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
      'invalid_request',
    ],
  ])(
    'a request with %s gets a response in JSON, and its connection ends',
    async (_, text, status, code) => {
      const { socket, closed } = rawSocket(ingest.port);
      socket.write(text);
      const answer = await closed;
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer.toLowerCase()).toContain('access-control-allow-origin: *');
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
        success: false,
        code,
      });
      expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    },
  );

  test('a request without Host is served', async () => {
    const { socket, closed } = rawSocket(ingest.port);
    socket.write('GET /v1/batch HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(await closed).toMatch(/^HTTP\/1.1 405 /);
  });

  test('a client that leaves in the middle of its body leaves nothing behind', async () => {
    const { socket, closed } = rawSocket(ingest.port);
    socket.write('POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"batch":');
    // By the time this is answered, ingest has read the beginning of the other.
    expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    socket.destroy();
    await closed;
    expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    expect(ingest.producer.appends).toHaveLength(2);
  });

  test('invalid HTTP after a request does not replace its response', async () => {
    let store = () => {};
    ingest.producer.behave = () => new Promise((resolve) => (store = resolve));
    const { socket, closed } = rawSocket(ingest.port);
    const text = JSON.stringify(body);
    socket.write(
      `POST /v1/b HTTP/1.1\r\nHost: x\r\nAuthorization: ` +
        `${basic('key-1').authorization!}\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    await eventually(() => expect(ingest.producer.appends).toHaveLength(1));
    socket.write('HELLO\r\n\r\n');
    expect(await closed).toBe('');
    store();
  });
});

describe('ingest that stops', () => {
  test('stopping ingest answers arrived requests, and then ends their connections', async () => {
    let store = () => {};
    ingest.producer.behave = () => new Promise((resolve) => (store = resolve));
    const pending = ingest.post('/v1/batch', body);
    await eventually(() => expect(ingest.producer.appends).toHaveLength(1));
    // A stop that waited for its deadline would outlast the test.
    const stopped = ingest.stop(600_000);
    // Ingest answers the earlier client and accepts no later one.
    await eventually(() => expect(fetch(`${ingest.url}/nowhere`)).rejects.toThrow());
    store();
    expect(await pending).toMatchObject({ status: 200 });
    await stopped;
  });

  test('a client that never ends its request does not hold up the stop', async () => {
    const { socket, closed } = rawSocket(ingest.port);
    socket.write('POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    // By the time this is answered, ingest has read the beginning of the other.
    expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200 });
    await ingest.stop(200);
    await closed;
  });
});
