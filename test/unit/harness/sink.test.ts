import { connect, type Socket } from 'node:net';
import { request, Agent } from 'undici';
import { makeCertificate } from '../../support/certificate';
import { startSink, type Sink, type SinkOptions } from '../../../tools/harness/sink';

/** The guarantees of the receiver that other tests use. */

let sink: Sink | undefined;
const sockets: Socket[] = [];
const start = async (options?: SinkOptions) => (sink = await startSink(options));
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await sink?.close();
});

const post = (
  url: string,
  body = '{}',
  headers: Record<string, string> = {},
  dispatcher = new Agent(),
) => request(url, { method: 'POST', body, headers, dispatcher });
/** For a response that never comes. */
const impatient = new Agent({ headersTimeout: 300 });

describe('the requests of a sink', () => {
  test('a sink records raw header names, exact bytes and the query of a request', async () => {
    const s = await start();
    const { statusCode, body } = await post(s.url('/hook?a=1'), '{"ü":1}', {
      'X-Signature': 'abc',
      'webhook-id': 'd1',
    });
    expect([statusCode, await body.text()]).toEqual([200, 'ok']);
    const [received] = s.received('/hook');
    expect(received).toMatchObject({
      method: 'POST',
      path: '/hook?a=1',
      headers: { 'x-signature': 'abc' },
      body: Buffer.from('{"ü":1}'),
      at: expect.any(Number),
      completeAt: expect.any(Number),
    });
    expect(received!.rawHeaders).toContain('X-Signature');
    expect(received!.remotePort).toBeGreaterThan(0);
    expect(s.received('/other')).toEqual([]);
  });

  test('a sink counts distinct deliveries and repeats', async () => {
    const s = await start();
    for (const id of ['a', 'b', 'a', 'a']) await post(s.url('/h'), '', { 'webhook-id': id });
    expect(s.deliveries('/h')).toEqual({ distinct: 2, repeats: 2, ids: new Set(['a', 'b']) });
    s.clear();
    expect(s.requests).toEqual([]);
  });

  test('waitFor resolves with the requests, and throws at its deadline', async () => {
    const s = await start();
    const two = s.waitFor(2, { path: '/h' });
    await Promise.all([post(s.url('/h')), post(s.url('/other')), post(s.url('/h'))]);
    await expect(two).resolves.toHaveLength(2);
    await expect(s.waitFor(3, { path: '/h', timeoutMs: 20 })).rejects.toThrow(
      '2 of 3 requests arrived on /h within 20 ms',
    );
  });

  test('a sink counts its open connections and their maximum', async () => {
    const s = await start();
    for (let i = 0; i < 3; i++) {
      const socket = connect(s.port, s.host);
      sockets.push(socket.on('error', () => undefined));
      await new Promise((resolve) => socket.once('connect', resolve));
    }
    await post(s.url());
    expect([s.connections, s.maxConnections]).toEqual([4, 4]);
    const closed = new Promise((resolve) => sockets[0]!.once('close', resolve));
    s.resetConnections();
    await closed;
  });
});

describe('the responses of a sink', () => {
  test('a path responds with its status, headers and body', async () => {
    const s = await start();
    s.on('/busy', { status: 503, headers: { 'retry-after': '7' }, body: 'later' });
    const busy = await post(s.url('/busy'));
    expect([busy.statusCode, busy.headers['retry-after'], await busy.body.text()]).toEqual([
      503,
      '7',
      'later',
    ]);
    expect((await post(s.url('/fine'))).statusCode).toBe(200);
  });

  test('a path responds in a sequence and repeats the last response', async () => {
    const s = await start();
    s.on('*', [{ status: 500 }, { status: 429 }, { status: 200 }]);
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await post(s.url('/x'))).statusCode);
    expect(statuses).toEqual([500, 429, 200, 200]);
  });

  test('a path computes its response from the request', async () => {
    const s = await start();
    s.on('*', (received, nth) => ({
      status: received.body.length > 3 ? 400 : 200,
      body: String(nth),
    }));
    const first = await post(s.url(), 'long body');
    const second = await post(s.url(), 'x');
    expect([first.statusCode, second.statusCode, await second.body.text()]).toEqual([
      400,
      200,
      '1',
    ]);
  });

  test('a path responds after its delay', async () => {
    const s = await start();
    s.on('/late', { delayMs: 600_000 }).on('/later', { delayMs: 1 });
    let answered = false;
    const late = post(s.url('/late')).then(
      () => (answered = true),
      () => undefined,
    );
    await s.waitFor(1, { path: '/late' });
    expect((await post(s.url('/later'))).statusCode).toBe(200);
    expect(answered).toBe(false);
    await s.close();
    await late;
  });

  test('a path hangs, resets, drips and never ends as it is set', async () => {
    const s = await start();
    s.on('/hang', { misbehave: 'hang' })
      .on('/reset', { misbehave: 'reset' })
      .on('/drip', { misbehave: 'drip', dripMs: 20 });
    s.on('/never', { misbehave: 'never_read' }).on('/endless', { misbehave: 'endless' });
    await expect(post(s.url('/hang'), '', {}, impatient)).rejects.toMatchObject({
      code: 'UND_ERR_HEADERS_TIMEOUT',
    });
    await expect(post(s.url('/reset'))).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
    });
    await expect(post(s.url('/never'), 'x'.repeat(20_000_000), {}, impatient)).rejects.toThrow();
    expect(s.received('/never')[0]!.completeAt).toBeUndefined();

    const drip = await post(s.url('/drip'));
    let dots = '';
    for await (const chunk of drip.body) if ((dots += String(chunk)).length >= 3) break;
    expect(dots).toMatch(/^\.{3,}$/);

    const endless = await post(s.url('/endless'));
    let bytes = 0;
    for await (const chunk of endless.body) {
      if ((bytes += (chunk as Buffer).length) > 5_000_000) break;
    }
    expect(bytes).toBeGreaterThan(5_000_000);
  });

  test('a path resets a connection under TLS', async () => {
    const s = await start({ tls: true });
    s.on('*', { misbehave: 'reset' });
    const trusting = new Agent({ connect: { ca: s.certificate!.cert } });
    await expect(post(s.url(), '', {}, trusting)).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
    });
  });

  test('close ends hanging requests, and a second call does nothing', async () => {
    const s = await start();
    s.on('*', { misbehave: 'hang' });
    const hanging = request(s.url(), { method: 'POST', dispatcher: new Agent() });
    const failed = expect(hanging).rejects.toThrow();
    await s.waitFor(1);
    await s.close();
    await s.close();
    await failed;
  });
});

describe('TLS', () => {
  const trusting = (ca: string) => new Agent({ connect: { ca } });
  const codeOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'ok',
      (error: unknown) => (error as { code: string }).code,
    );

  test('a client refuses a self-signed certificate that it does not trust', async () => {
    const s = await start({ tls: true });
    expect(s.url()).toMatch(/^https:/);
    expect(await codeOf(post(s.url()))).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect((await post(s.url(), '', {}, trusting(s.certificate!.cert))).statusCode).toBe(200);
    expect(s.requests).toHaveLength(1);
  });

  const authority = makeCertificate({ name: 'test authority', authority: true });
  test.each([
    ['good', {}, 'ok'],
    ['expired', { notAfter: new Date(Date.now() - 60_000) }, 'CERT_HAS_EXPIRED'],
    ['not yet valid', { notBefore: new Date(Date.now() + 60_000) }, 'CERT_NOT_YET_VALID'],
    ['of another host', { hosts: ['elsewhere.example'] }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('a certificate of a known authority: %s', async (_, options, expected) => {
    const s = await start({ tls: makeCertificate({ ...options, issuer: authority }) });
    expect(await codeOf(post(s.url(), '', {}, trusting(authority.cert)))).toBe(expected);
  });

  test('a client refuses a certificate of an unknown authority', async () => {
    const s = await start({ tls: makeCertificate({ issuer: authority }) });
    expect(await codeOf(post(s.url()))).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});
