import { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import { ClientTls } from '../../../../services/delivery/http/client-tls';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { defined } from '../../../../shared/collections/defined';
import { type EndpointTls } from '../../../../shared/model/endpoint-auth';
import { type Certificate, makeCertificate } from '../../../support/certificate';
import { startRawReceiver, writes } from '../../../support/raw-receiver';

/**
 * Client certificates and authorities of a URL, against a TLS server that demands a certificate.
 */

const CA = makeCertificate({ name: 'ours', authority: true });
const OTHER_CA = makeCertificate({ name: 'another', authority: true });
const SERVER = makeCertificate({ name: 'the server', issuer: CA });
const past = { notBefore: new Date('2020-01-01'), notAfter: new Date('2020-02-01T00:00:00Z') };
const client = (name: string, options: object = {}) =>
  makeCertificate({ name, issuer: CA, ...options });
const [ANN, BEN, EXPIRED] = [client('ann'), client('ben'), client('old', past)];
const tlsOf = ({ cert, key }: Certificate, ca = CA.cert): EndpointTls<string> => ({
  certificate: cert,
  key,
  ca,
});

let peer: tls.Server | undefined;
let sender: Sender;
let clock: StallClock;
let connections: number;
let handshakes: string[];

beforeEach(() => {
  connections = 0;
  handshakes = [];
  clock = new StallClock();
  sender = new Sender({
    timeoutMs: 2_000,
    guard: () => undefined,
    names: new NameResolver(1_000),
    clock,
    mostConnections: 100,
    onHandshake: (resumed) => handshakes.push(resumed ? 'resumed' : 'full'),
  });
});
afterEach(async () => {
  await sender.close();
  clock.stop();
  peer?.close();
});

/** @param closes ends each connection after its response */
async function listen(options: tls.TlsOptions = {}, closes = false): Promise<void> {
  const demands = { requestCert: true, rejectUnauthorized: true, ca: CA.cert };
  peer = tls.createServer(
    { key: SERVER.key, cert: SERVER.cert, ...demands, ...options },
    (socket) => {
      connections++;
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        if (!chunk.toString().endsWith('{}')) return;
        const { subject } = socket.getPeerCertificate() as { subject?: { CN: string } };
        const name = subject?.CN ?? 'nobody';
        const response = `HTTP/1.1 200 OK\r\ncontent-length: ${String(name.length)}\r\n\r\n${name}`;
        if (closes) socket.end(response);
        else socket.write(response);
      });
    },
  );
  peer.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => peer!.listen(0, '127.0.0.1', resolve));
}

function post(pem?: EndpointTls<string>): Promise<SendResult> {
  const origin = `https://localhost:${String((peer!.address() as AddressInfo).port)}`;
  const request = {
    origin,
    path: '/',
    headers: [],
    body: Buffer.from('{}'),
    ...defined({ tls: pem ? new ClientTls(pem) : undefined }),
  };
  return new Promise((resolve) => sender.send(request, resolve));
}
const nameIn = (result: SendResult) => (result.ok ? result.response.body.toString() : result.error);

test('each client certificate has connections of its own', async () => {
  await listen();
  const names = [];
  for (const pem of [ANN, BEN, ANN, BEN]) names.push(nameIn(await post(tlsOf(pem))));
  expect([names, connections]).toEqual([['ann', 'ben', 'ann', 'ben'], 2]);
});

test('each client certificate continues its own TLS sessions only', async () => {
  await listen({}, true);
  const names = [];
  for (const pem of [ANN, BEN, ANN, BEN]) names.push(nameIn(await post(tlsOf(pem))));
  expect([names, handshakes]).toEqual([
    ['ann', 'ben', 'ann', 'ben'],
    ['full', 'full', 'resumed', 'resumed'],
  ]);
});

test.each<[string, EndpointTls<string>, RegExp]>([
  [
    'an expired client certificate',
    tlsOf(EXPIRED),
    /the client certificate expired at 2020-02-01T00:00:00.000Z/,
  ],
  [
    'no client certificate',
    { ca: CA.cert },
    /the endpoint (demands|refused the handshake, and may demand|may demand) a client certificate/,
  ],
  [
    'authorities that did not sign the certificate of the endpoint',
    tlsOf(ANN, OTHER_CA.cert),
    /no trusted authority signed the certificate of the endpoint/,
  ],
  [
    'a client certificate of an unknown authority',
    tlsOf(makeCertificate({ name: 'eve', issuer: OTHER_CA })),
    /the endpoint (does not trust the authority of|may not accept) the client certificate/,
  ],
])('with %s, the error names the cause in TLS 1.2 and 1.3', async (_, pem, cause) => {
  // With TLS 1.2 a refused certificate ends the handshake, with 1.3 the client learns of it after
  // its request.
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    await listen({ maxVersion });
    const result = await post(pem);
    peer?.close();
    expect(result).toMatchObject({ ok: false, error: { message: expect.stringMatching(cause) } });
    expect(JSON.stringify(result)).not.toContain('BEGIN');
  }
});

test('an expired certificate of the endpoint is named', async () => {
  const server = makeCertificate({ name: 'the server', issuer: CA, ...past });
  await listen({ key: server.key, cert: server.cert, requestCert: false });
  expect(await post({ ca: CA.cert })).toMatchObject({
    error: {
      code: 'tls',
      phase: 'tls',
      message: expect.stringContaining('the certificate of the endpoint has expired'),
    },
  });
});

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a session of %s is not continued once the certificate of the endpoint has expired',
  async (maxVersion) => {
    const server = makeCertificate({ name: 'the server', issuer: CA });
    const options = { key: server.key, cert: server.cert, requestCert: false, maxVersion };
    await listen(options, true);
    await post({ ca: CA.cert });
    await post({ ca: CA.cert });
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 25 * 3_600_000);
    await post({ ca: CA.cert });
    jest.restoreAllMocks();
    expect(handshakes).toEqual(['full', 'resumed', 'full']);
  },
);

test('a key that OpenSSL refuses fails its own request alone', async () => {
  await listen();
  expect(await post({ ...tlsOf(ANN), key: BEN.key })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('KEY_VALUES_MISMATCH') },
  });
  expect(nameIn(await post(tlsOf(ANN)))).toBe('ann');
});

test('an endpoint with a lone certificate may lack its intermediate: that is said', async () => {
  await listen({ requestCert: false, ca: undefined });
  const result = await post();
  const message = expect.stringContaining('sends no intermediate certificate') as string;
  expect(result).toMatchObject({ ok: false, error: { code: 'tls', message } });
});

test('an endpoint that speaks HTTP/2 only is told so', async () => {
  await listen({ requestCert: false, ALPNProtocols: ['h2'] });
  const result = await post({ ca: CA.cert });
  const message = expect.stringContaining('it may speak HTTP/2 only') as string;
  expect(result).toMatchObject({ ok: false, error: { code: 'tls', message } });
});

describe.each<[string, EndpointTls<string> | undefined]>([
  ['the authorities of Node', undefined],
  ['an authority of its own', { ca: CA.cert }],
  ['a client certificate', tlsOf(ANN)],
])('with %s', (_, pem) => {
  test.each<[string, tls.TlsOptions]>([
    [
      'of a length that it chooses',
      { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' },
    ],
    ['of 8,192 bits', { minVersion: 'TLSv1.3', ecdhCurve: 'ffdhe8192' }],
  ])('an endpoint gets no keys out of numbers %s', async (__, exchange) => {
    const { key, cert } = makeCertificate({ name: 'the server', issuer: CA, rsa: true });
    await listen({ key, cert, requestCert: false, ...exchange });
    const message = expect.stringContaining('the endpoint refused the handshake') as string;
    expect(await post(pem)).toMatchObject({ ok: false, error: { code: 'tls', message } });
  });
});

test('an endpoint that does not speak TLS is told so', async () => {
  const plain = await startRawReceiver(() => () => undefined, {
    onConnection: writes(['HTTP/1.1 400 Bad Request\r\n\r\n']),
  });
  const request = {
    origin: plain.origin.replace('http', 'https'),
    path: '/',
    headers: [],
    body: Buffer.from('{}'),
  };
  const result = await new Promise<SendResult>((resolve) => sender.send(request, resolve));
  await plain.close();
  const message = expect.stringContaining('does not speak TLS here') as string;
  expect(result).toMatchObject({ ok: false, error: { code: 'tls', message } });
});

describe('a server of TLS 1.2 that starts the handshake again and again', () => {
  const limit = tls.CLIENT_RENEG_LIMIT;
  beforeAll(() => {
    // Node's own server would end the connection after three.
    Object.assign(tls, { CLIENT_RENEG_LIMIT: 1_000 });
  });
  afterAll(() => {
    Object.assign(tls, { CLIENT_RENEG_LIMIT: limit });
  });

  test.each([
    ['without a client certificate', { ca: CA.cert }],
    ['with one', tlsOf(ANN)],
  ])('fails its request, %s', async (_, pem) => {
    let again = 0;
    await listen({ maxVersion: 'TLSv1.2', rejectUnauthorized: false });
    peer!.removeAllListeners('secureConnection');
    peer!.on('secureConnection', (socket: tls.TLSSocket) => {
      socket.on('error', () => undefined);
      const restart = () => {
        if (socket.destroyed || again === 100) return;
        socket.renegotiate({}, (error) => {
          if (error) return;
          again++;
          restart();
        });
      };
      socket.once('data', restart);
    });
    const message = 'the endpoint started the TLS handshake or renewed its keys again and again';
    expect(await post(pem)).toMatchObject({ ok: false, error: { message } });
    expect(again).toBeLessThan(10);
  });
});
