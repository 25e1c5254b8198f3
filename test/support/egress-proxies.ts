import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Egress proxies on this machine: HTTP CONNECT and SOCKS5, which work or misbehave. */

export type Mood = 'works' | 'hangs' | 'closes' | 'refuses' | 'unreachable' | 'wants login';

export interface TestProxy {
  port: number;
  mood: Mood;
  /** `host:port` of each connection asked for */
  readonly asked: string[];
  /** `Proxy-Authorization` or the SOCKS login of each */
  readonly logins: string[];
  /**
   * Changes its mood, for its open connections too: a bad proxy closes them, or leaves them silent
   * if it hangs.
   */
  behave(mood: Mood): void;
  close(): Promise<void>;
}

export async function startHttpProxy(mood: Mood = 'works', host = '127.0.0.1'): Promise<TestProxy> {
  const server = createHttpServer();
  const proxy = proxyOn(server, mood);
  server.on('connect', ({ url = '', headers }, socket: Socket) => {
    socket.on('error', () => undefined);
    proxy.asked.push(url);
    proxy.logins.push(headers['proxy-authorization'] ?? '');
    const status = STATUSES.get(proxy.mood);
    if (proxy.mood === 'closes') socket.destroy();
    else if (status) socket.end(`HTTP/1.1 ${String(status)} No\r\n\r\n`);
    else if (proxy.mood === 'works') {
      const { hostname, port } = new URL(`http://${url}`);
      join(
        socket,
        { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 80 },
        'HTTP/1.1 200 OK\r\n\r\n',
      );
    }
  });
  return listen(server, proxy, host);
}

const STATUSES = new Map<Mood, number>([
  ['refuses', 403],
  ['unreachable', 502],
  ['wants login', 407],
]);

/** SOCKS5 with or without a login. */
export async function startSocksProxy(mood: Mood = 'works'): Promise<TestProxy> {
  const server = createServer();
  const proxy = proxyOn(server, mood);
  server.on('connection', (socket) => {
    socket.on('error', () => undefined);
    if (proxy.mood === 'closes') socket.destroy();
    if (proxy.mood !== 'hangs') socket.once('data', (greeting) => greet(proxy, socket, greeting));
  });
  return listen(server, proxy);
}

function greet(proxy: TestProxy, socket: Socket, greeting: Buffer): void {
  const hasLogin = greeting.subarray(2).includes(2);
  socket.write(Buffer.from([5, hasLogin ? 2 : 0]));
  if (!hasLogin) socket.once('data', (asked) => answer(proxy, socket, asked));
  else {
    socket.once('data', (login) => {
      const userLength = login[1]!;
      proxy.logins.push(
        `${login.subarray(2, 2 + userLength).toString()}:${login.subarray(3 + userLength).toString()}`,
      );
      const refused = proxy.mood === 'wants login';
      socket.write(Buffer.from([1, refused ? 1 : 0]));
      if (!refused) socket.once('data', (asked) => answer(proxy, socket, asked));
    });
  }
}

function answer(proxy: TestProxy, socket: Socket, asked: Buffer): void {
  const isName = asked[3] === 3;
  const host = isName
    ? asked.subarray(5, 5 + asked[4]!).toString()
    : [...asked.subarray(4, 8)].join('.');
  const port = asked.readUInt16BE(asked.length - 2);
  proxy.asked.push(`${host}:${String(port)}`);
  const code = proxy.mood === 'refuses' ? 2 : proxy.mood === 'unreachable' ? 4 : 0;
  const reply = Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (code > 0) socket.end(reply);
  else join(socket, { host, port }, reply);
}

function join(socket: Socket, to: { host: string; port: number }, greeting: string | Buffer): void {
  const there = connect(to, () => {
    socket.write(greeting);
    socket.pipe(there).pipe(socket);
  });
  there.on('error', () => socket.destroy());
  socket.on('close', () => there.destroy());
}

const socketsOf = new WeakMap<Server, Set<Socket>>();

function proxyOn(server: Server, mood: Mood): TestProxy {
  const sockets = new Set<Socket>();
  socketsOf.set(server, sockets);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const proxy: TestProxy = {
    port: 0,
    mood,
    asked: [],
    logins: [],
    behave: (next) => behave(next),
    close,
  };
  const behave = (next: Mood) => {
    proxy.mood = next;
    for (const socket of next === 'works' ? [] : sockets) {
      if (next === 'hangs') socket.unpipe().pause();
      else socket.destroy();
    }
  };
  return proxy;
}

async function listen(server: Server, proxy: TestProxy, host = '127.0.0.1'): Promise<TestProxy> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  proxy.port = (server.address() as AddressInfo).port;
  return proxy;
}
