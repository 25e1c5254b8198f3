import { once } from 'node:events';
import { type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createControlServer } from '../../../services/control/app/http-server';
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

type Start = (timeouts: Timeouts) => Promise<{ port: number; close(): void }>;

/** requests that a server has begun to work on */
let begun: number;
beforeEach(() => {
  begun = 0;
});

const control: Start = async (timeouts) => {
  const answer: RequestListener = (req, res) => {
    begun++;
    req.on('end', () => res.end()).resume();
  };
  const server = createControlServer(answer, {
    maxConnections: 9,
    timeouts,
  });
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
    timeouts,
  });

describe.each([
  ['control', control],
  ['a health port', health],
])('the connections of %s', (_, start) => {
  let server: Awaited<ReturnType<Start>>;
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
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
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.race([once(socket, 'data').then(() => true), closed.then(() => false)]);
  }

  test('one address holds two thirds of them at most, and others are served', async () => {
    server = await start(NEVER);
    const served = [];
    for (let i = 0; i < 9; i++) served.push(await isServed());
    expect(served.filter(Boolean)).toHaveLength(6);
    expect(await isServed('127.0.0.2')).toBe(true);
  });

  test('all addresses together hold fewer than the limit', async () => {
    server = await start(NEVER);
    const served = [];
    for (let i = 1; i <= 30; i++) served.push(await isServed(`127.0.1.${i}`));
    expect(served.filter(Boolean).length).toBeLessThanOrEqual(9);
  });

  test('a client that sends a thousand requests at once is closed after 16', async () => {
    server = await start(NEVER);
    const { socket, closed } = open();
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000));
    await closed;
    expect(begun).toBe(16);
  });

  test('a client that reads each response sends as many requests as it likes', async () => {
    server = await start(NEVER);
    const { socket } = open();
    for (let i = 0; i < 40; i++) {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
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
    expect(await closed).toMatch(/408 Request Timeout|404 Not Found/);
  });
});

test('a client that does not read its response is closed in time', async () => {
  const server = createControlServer((_req, res) => res.end(Buffer.alloc(50_000_000)), {
    maxConnections: 9,
    timeouts: { ...NEVER, timeout: 30 },
  });
  const port = await listen(server, 0, '127.0.0.1');
  const client = connect({ port, host: '127.0.0.1' }).pause();
  client.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [served] = (await once(server, 'connection')) as [Socket];
  await once(served, 'close');
  client.destroy();
  server.close();
});
