import { once } from 'node:events';
import { type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import express from 'express';
import { createControlServer } from '../../../services/control/app/http-server';
import { startServer } from '../../../services/ingest/server';
import { type Timeouts } from '../../../shared/runtime/connections';
import { listen, serveHealth } from '../../../shared/runtime/health';

/** All of 127.0.0.0/8 is this machine, so that a test has many addresses. */

const LONG_MS = 600_000;
const NEVER: Timeouts = {
  headersTimeout: LONG_MS,
  requestTimeout: LONG_MS,
  timeout: LONG_MS,
  connectionsCheckingInterval: 5,
};
const REQUEST = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

type Start = (
  timeouts: Timeouts,
  keepAliveMs?: number,
) => Promise<{ port: number; close(): unknown }>;

/** requests that a server has begun to work on */
let begun: number;
const answer: RequestListener = (req, res) => {
  begun++;
  req.on('end', () => res.end('served')).resume();
};

const ingest: Start = async (timeouts, keepAliveMs = LONG_MS) => {
  const server = await startServer(express().use(answer), {
    host: '127.0.0.1',
    port: 0,
    maxConnections: 9,
    keepAliveMs,
    timeouts,
  });
  return { port: server.port, close: () => server.stop(20) };
};
const control: Start = async (timeouts) => {
  const server = createControlServer(answer, { maxConnections: 9, timeouts });
  return { port: await listen(server, 0, '127.0.0.1'), close: () => server.close() };
};
const health: Start = (timeouts) =>
  serveHealth({
    host: '127.0.0.1',
    port: 0,
    maxConnections: 9,
    health: {
      notLive: () => {
        begun++;
        return [];
      },
      notReady: () => [],
    },
    all: new Map(),
    timeouts,
  });

let server: Awaited<ReturnType<Start>>;
const sockets: Socket[] = [];
beforeEach(() => {
  begun = 0;
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
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

/** Sends a request on a connection that stays open. @returns whether it was answered */
async function isServed(localAddress?: string): Promise<boolean> {
  const { socket, closed } = open(localAddress);
  socket.write(REQUEST);
  return Promise.race([once(socket, 'data').then(() => true), closed.then(() => false)]);
}

async function countServed(connections: number, addressOf: (i: number) => string): Promise<number> {
  let served = 0;
  for (let i = 0; i < connections; i++) if (await isServed(addressOf(i))) served++;
  return served;
}

describe.each([
  ['ingest', ingest],
  ['control', control],
  ['a health port', health],
])('the connections of %s', (_, start) => {
  test('one address holds two thirds of them at most, and others are served', async () => {
    server = await start(NEVER);
    expect(await countServed(9, () => '127.0.0.1')).toBe(6);
    expect(await isServed('127.0.0.2')).toBe(true);
  });

  test('all addresses together hold fewer than the limit', async () => {
    server = await start(NEVER);
    const served = await countServed(30, (i) => `127.0.1.${i + 1}`);
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThanOrEqual(9);
  });

  test('a closed connection makes room for the next one of its address', async () => {
    server = await start(NEVER);
    await countServed(7, () => '127.0.0.1');
    for (const socket of sockets) socket.destroy();
    // The server notices the closed connections one after another.
    while (!(await isServed()));
    expect(await countServed(5, () => '127.0.0.1')).toBeGreaterThan(0);
  });

  test('a client that sends a thousand requests at once is closed after 16', async () => {
    server = await start(NEVER);
    const { socket, closed } = open();
    socket.write(REQUEST.repeat(1_000));
    await closed;
    expect(begun).toBe(16);
  });

  test('a client that reads each response sends as many requests as it likes', async () => {
    server = await start(NEVER);
    const { socket } = open();
    for (let i = 0; i < 40; i++) {
      socket.write(REQUEST);
      await once(socket, 'data');
    }
    expect(begun).toBe(40);
  });

  test.each([
    ['sends nothing', ''],
    ['stops in the middle of its headers', 'GET /livez HTTP/1.1\r\nX-Slow: '],
    ['stops in the middle of its body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'],
  ])('a client that %s is closed in time', async (_behaviour, sent) => {
    server = await start({ ...NEVER, headersTimeout: 30, requestTimeout: 40 });
    const { socket, closed } = open();
    socket.write(sent);
    expect(await closed).toMatch(
      start === ingest
        ? /^HTTP\/1.1 408 .*"code":"request_timeout"/s
        : /408 Request Timeout|404 Not Found/,
    );
  });
});

describe('a kept connection of ingest', () => {
  test('a connection without a request is kept for the time that responses name', async () => {
    server = await ingest(NEVER, 620_000);
    const { socket } = open();
    socket.write(REQUEST);
    const [answered] = (await once(socket, 'data')) as [string];
    expect(answered).toMatch(/^Keep-Alive: timeout=620\r$/m);
  });

  test('a kept connection may stay idle for longer than the limit for headers', async () => {
    server = await ingest({ ...NEVER, headersTimeout: 30 });
    const { socket, closed } = open();
    socket.write(REQUEST);
    await once(socket, 'data');
    // The server has by now closed a second connection, opened after the first, for its limit.
    expect(await open().closed).toMatch(/^HTTP\/1.1 408 /);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await closed).toMatch(/(served.*){2}/s);
  });

  test('a connection is closed once it was idle for that time', async () => {
    server = await ingest(NEVER, 20);
    const { socket, closed } = open();
    socket.write(REQUEST);
    expect(await closed).toContain('served');
  });
});

test('a client of control that does not read its response is closed in time', async () => {
  const http = createControlServer((_req, res) => res.end(Buffer.alloc(50_000_000)), {
    maxConnections: 9,
    timeouts: { ...NEVER, timeout: 30 },
  });
  server = { port: await listen(http, 0, '127.0.0.1'), close: () => http.close() };
  const { socket } = open();
  socket.pause().write(REQUEST);
  const [served] = (await once(http, 'connection')) as [Socket];
  await once(served, 'close');
});
