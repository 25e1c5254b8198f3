import { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { makeCertificate } from '../../../support/certificate';
import { eventually } from '../../../support/eventually';

/** Kept connections, against a TLS server that treats each request as the test says. */

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const certificate = makeCertificate({
  hosts: ['localhost', 'a.localhost', 'b.localhost', 'c.localhost'],
});

/** @param reset ends the connection below TLS, without a close */
type Treatment = (socket: tls.TLSSocket, reset: () => void) => void;
const answers: Treatment = (socket) => socket.write(OK);
const resets: Treatment = (_socket, reset) => reset();

let peer: tls.Server;
let sender: Sender;
let clock: StallClock;
/** of the first request, the second, …; the last one repeats */
let treatments: Treatment[];
let requests: number;
let connections: number;
let handshakes: ('full' | 'resumed')[];

beforeEach(async () => {
  treatments = [answers];
  requests = connections = 0;
  handshakes = [];
  const raw = new Map<number, Socket>();
  peer = tls.createServer({ key: certificate.key, cert: certificate.cert }, (socket) => {
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.endsWith('{}')) return;
      text = '';
      const treat = treatments[Math.min(requests++, treatments.length - 1)]!;
      treat(socket, () => raw.get(socket.remotePort!)?.resetAndDestroy());
    });
  });
  peer.on('connection', (socket: Socket) => {
    connections++;
    raw.set(socket.remotePort!, socket);
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  const connect = tls.connect.bind(tls) as (options: tls.ConnectionOptions) => tls.TLSSocket;
  const secureContext = tls.createSecureContext({ ca: certificate.cert });
  const trusting = (options: tls.ConnectionOptions) => connect({ ...options, secureContext });
  jest.spyOn(tls, 'connect').mockImplementation(trusting as typeof tls.connect);
  clock = new StallClock();
  sender = open(100);
});

afterEach(async () => {
  await sender.close();
  clock.stop();
  jest.restoreAllMocks();
  peer.close();
});

function open(mostConnections: number): Sender {
  return new Sender({
    timeoutMs: 2_000,
    guard: () => undefined,
    names: new NameResolver(1_000),
    clock,
    mostConnections,
    onHandshake: (resumed) => handshakes.push(resumed ? 'resumed' : 'full'),
  });
}

function post(host = 'localhost'): Promise<SendResult> {
  const origin = `https://${host}:${String((peer.address() as AddressInfo).port)}`;
  return new Promise((resolve) => {
    sender.send({ origin, path: '/', headers: [], body: Buffer.from('{}') }, resolve);
  });
}

test('a kept TLS connection serves later requests without a handshake', async () => {
  for (let i = 0; i < 3; i++) {
    expect(await post()).toMatchObject({ ok: true, response: { status: 200 } });
  }
  expect({ connections, handshakes }).toEqual({ connections: 1, handshakes: ['full'] });
});

test('a request whose connection is reset is sent again, in the same TLS session', async () => {
  treatments = [answers, resets, answers];
  await post();
  expect(await post()).toMatchObject({ ok: true, response: { status: 200 }, resent: true });
  expect({ requests, handshakes }).toEqual({ requests: 3, handshakes: ['full', 'resumed'] });
  expect(await post()).not.toHaveProperty('resent');
});

test('a request whose kept connection closes while writing is sent over a new one', async () => {
  treatments = [answers, (socket) => socket.end(), answers];
  await post();
  expect(await post()).toMatchObject({ ok: true, resent: true });
});

test('a request is sent a second time once: a second break fails it', async () => {
  treatments = [answers, resets];
  await post();
  expect(await post()).toMatchObject({ ok: false, error: { code: 'connection' }, resent: true });
  expect(requests).toBe(3);
});

test('a request whose new connection breaks is not sent again', async () => {
  treatments = [resets];
  const result = await post();
  expect(result).toMatchObject({ ok: false, error: { code: 'connection' } });
  expect(result).not.toHaveProperty('resent');
  expect(requests).toBe(1);
});

test('a request is not sent again once a byte of its response has arrived', async () => {
  treatments = [
    answers,
    (socket, reset) => void socket.write('HTTP/1.1 2', () => setImmediate(reset)),
  ];
  await post();
  const result = await post();
  expect(result).toMatchObject({ ok: false });
  expect(result).not.toHaveProperty('resent');
});

test('a request without response on a kept connection times out and is not resent', async () => {
  treatments = [answers, () => undefined];
  await post();
  const result = await post();
  expect(result).toMatchObject({ ok: false, error: { code: 'timeout' } });
  expect(result).not.toHaveProperty('resent');
});

test('an idle connection that closes is forgotten, and the next keeps its session', async () => {
  treatments = [(socket) => socket.end(OK), answers];
  await post();
  await eventually(() => expect(sender.connections.idle).toBe(0));
  const result = await post();
  expect(result).toMatchObject({ ok: true });
  expect(result).not.toHaveProperty('resent');
  expect(handshakes).toEqual(['full', 'resumed']);
});

test('an endpoint that keeps connections for a second gets a new one per request', async () => {
  const hint = 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok';
  treatments = [(socket) => socket.write(hint)];
  for (let i = 0; i < 3; i++) expect(await post()).toMatchObject({ ok: true });
  expect(connections).toBe(3);
});

test('beyond the limit, the connection that was idle longest is closed', async () => {
  await sender.close();
  sender = open(2);
  for (const host of ['a.localhost', 'b.localhost', 'c.localhost']) {
    expect(await post(host)).toMatchObject({ ok: true });
  }
  expect([sender.connections.idle, sender.connections.inUse, connections]).toEqual([2, 0, 3]);
  await post('b.localhost');
  expect(connections).toBe(3);
  await post('a.localhost');
  expect(connections).toBe(4);
  // c was used before b.
  await post('b.localhost');
  expect(connections).toBe(4);
});
