import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import express from 'express';
import { type IngestServer, startServer } from '../../../services/ingest/server';
import { type Timeouts } from '../../../shared/runtime/connections';

/**
 * The limits of connections, over real sockets. All of 127.0.0.0/8 is this machine, so that a test
 * has many addresses.
 */

const LONG_MS = 600_000;
const NEVER: Timeouts = {
  headersTimeout: LONG_MS,
  requestTimeout: LONG_MS,
  timeout: LONG_MS,
  connectionsCheckingInterval: 5,
};
const REQUEST = 'POST / HTTP/1.1\r\nHost: x\r\n';

let server: IngestServer;
const sockets: Socket[] = [];
/** requests that the server has begun to work on */
let begun: number;
beforeEach(() => {
  begun = 0;
});

async function start(
  options: { maxConnections?: number; keepAliveMs?: number; timeouts?: Partial<Timeouts> } = {},
): Promise<void> {
  const { maxConnections = 9, keepAliveMs = LONG_MS, timeouts } = options;
  const app = express().use((req, res) => {
    begun++;
    req.on('end', () => res.end('served')).resume();
  });
  server = await startServer(app, {
    host: '127.0.0.1',
    port: 0,
    maxConnections,
    keepAliveMs,
    timeouts: { ...NEVER, ...timeouts },
  });
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop(20);
});

function open(localAddress = '127.0.0.1') {
  const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  let text = '';
  // A reset is as good an end as any.
  socket.setEncoding('latin1').on('error', () => undefined);
  socket.on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  return { socket, closed };
}

/**
 * Opens a connection and sends a request. @returns whether it was served: its connection stays open
 */
async function isServed(localAddress?: string): Promise<boolean> {
  const { socket, closed } = open(localAddress);
  socket.write(`${REQUEST}Content-Length: 0\r\n\r\n`);
  return Promise.race([once(socket, 'data').then(() => true), closed.then(() => false)]);
}

async function countServed(connections: number, addressOf: (i: number) => string): Promise<number> {
  let served = 0;
  for (let i = 0; i < connections; i++) if (await isServed(addressOf(i))) served++;
  return served;
}

test('an address holds at most two thirds of connections, and others are served', async () => {
  await start();
  expect(await countServed(9, () => '127.0.0.1')).toBe(6);
  expect(await isServed('127.0.0.2')).toBe(true);
});

test('many addresses together hold fewer connections than the limit', async () => {
  await start();
  const served = await countServed(30, (i) => `127.0.1.${i + 1}`);
  expect(served).toBeGreaterThan(0);
  expect(served).toBeLessThanOrEqual(9);
});

test('a closed connection makes room for the next one of its address', async () => {
  await start();
  await countServed(7, () => '127.0.0.1');
  for (const socket of sockets) socket.destroy();
  // The server notices the closed connections one after another.
  while (!(await isServed()));
  expect(await countServed(5, () => '127.0.0.1')).toBeGreaterThan(0);
});

test.each([
  ['sends nothing', ''],
  ['stops in the middle of its headers', `${REQUEST}X-Slow: `],
])('a client that %s gets 408 after the limit for headers', async (_, sent) => {
  await start({ timeouts: { headersTimeout: 30 } });
  const { socket, closed } = open();
  socket.write(sent);
  expect(await closed).toMatch(/^HTTP\/1.1 408 .*"code":"request_timeout"/s);
});

test('a client that stops amid its body gets 408 after the limit for a request', async () => {
  await start({ timeouts: { headersTimeout: 30, requestTimeout: 40 } });
  const { socket, closed } = open();
  socket.write(`${REQUEST}Content-Length: 100\r\n\r\nhalf`);
  expect(await closed).toMatch(/^HTTP\/1.1 408 .*"code":"request_timeout"/s);
});

test('a client that sends a thousand requests at once is closed after 16', async () => {
  await start();
  const { socket, closed } = open();
  socket.write(`${REQUEST}Content-Length: 0\r\n\r\n`.repeat(1_000));
  await closed;
  expect(begun).toBe(16);
});

test('a connection without a request is kept for the time that responses name', async () => {
  await start({ keepAliveMs: 620_000 });
  const { socket } = open();
  socket.write(`${REQUEST}Content-Length: 0\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [string];
  expect(answer).toMatch(/^Keep-Alive: timeout=620\r$/m);
});

test('a kept connection may stay idle for longer than the limit for headers', async () => {
  await start({ keepAliveMs: LONG_MS, timeouts: { headersTimeout: 30 } });
  const { socket, closed } = open();
  socket.write(`${REQUEST}Content-Length: 0\r\n\r\n`);
  await once(socket, 'data');
  // The server has by now closed a second connection, opened after the first, for its limit.
  expect(await open().closed).toMatch(/^HTTP\/1.1 408 /);
  socket.write(`${REQUEST}Content-Length: 0\r\nConnection: close\r\n\r\n`);
  expect(await closed).toMatch(/(served.*){2}/s);
});

test('a connection is closed once it was idle for that time', async () => {
  await start({ keepAliveMs: 20 });
  const { socket, closed } = open();
  socket.write(`${REQUEST}Content-Length: 0\r\n\r\n`);
  expect(await closed).toContain('served');
});
