import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo } from 'node:net';
import pino from 'pino';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { Proxies } from '../../../../services/delivery/http/proxies';
import { ProxyGate } from '../../../../services/delivery/http/proxy-gate';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { type Proxy } from '../../../../services/delivery/http/tunnel';
import { defined } from '../../../../shared/collections/defined';
import { createAddressGuard } from '../../../../shared/model/address-guard';
import { type StoredProxy } from '../../../../shared/model/config';
import { readProxyUrl } from '../../../../shared/model/proxy-url';
import { makeCertificate } from '../../../support/certificate';
import { floods, startRawReceiver } from '../../../support/raw-receiver';
import { startHttpProxy, startSocksProxy, type TestProxy } from '../../../support/egress-proxies';

/** Requests through real proxies on real sockets. */

const certificate = makeCertificate();
const TIMEOUT_MS = 700;
let server: Server;
let secure: Server;
let clock: StallClock;
let sender: Sender;
let senders: Sender[] = [];
let proxies: Proxies;
let proxy: TestProxy | undefined;
let closing: TestProxy[] = [];

beforeEach(async () => {
  server = createServer((request, response) =>
    request.resume().on('end', () => response.end('ok')),
  );
  secure = createSecureServer({ key: certificate.key, cert: certificate.cert }, (_, response) =>
    response.end('ok'),
  );
  for (const each of [server, secure]) {
    await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', () => resolve()));
  }
  clock = new StallClock();
  proxies = new Proxies({
    usual: undefined,
    now: () => clock.now(),
    log: pino({ level: 'silent' }),
  });
  open({});
});

afterEach(async () => {
  await Promise.all(senders.map((each) => each.close()));
  senders = [];
  clock.stop();
  await Promise.all(closing.map((each) => each.close()));
  closing = [];
  for (const each of [server, secure]) {
    each.closeAllConnections();
    each.close();
  }
});

function open(more: Partial<ConstructorParameters<typeof Sender>[0]>): void {
  sender = new Sender({
    timeoutMs: TIMEOUT_MS,
    guard: createAddressGuard(['127.0.0.0/8', '::1/128']),
    names: new NameResolver(TIMEOUT_MS),
    clock,
    mostConnections: 100,
    ...more,
  });
  senders.push(sender);
}

async function start(
  kind: 'http' | 'socks5',
  mood: TestProxy['mood'] = 'works',
  login = '',
): Promise<Proxy> {
  proxy = kind === 'http' ? await startHttpProxy(mood) : await startSocksProxy(mood);
  closing.push(proxy);
  return proxyAt(`${kind}://127.0.0.1:${String(proxy.port)}`, login);
}

function proxyAt(address: string, login = ''): Proxy {
  const stored: StoredProxy = {
    address,
    ...defined({ userInfo: login !== '' ? login : undefined }),
  };
  return proxies.of(stored, (text) => text)!;
}

const port = (of: Server) => String((of.address() as AddressInfo).port);
const originOf = (host = '127.0.0.1') => `http://${host}:${port(server)}`;

function post(by: Proxy | undefined, origin = originOf()): Promise<SendResult> {
  const request = {
    origin,
    path: '/',
    headers: [],
    body: Buffer.from('{}'),
    ...defined({ proxy: by }),
  };
  return new Promise((resolve) => sender.send(request, resolve));
}

/** Sends five requests that the gate lets through, and expects it to be closed afterwards. */
async function closesAtTheFifth(by: Proxy): Promise<void> {
  for (let i = 0; i < 5; i++) {
    expect(by.gate.refusal(originOf())).toBeUndefined();
    await post(by);
  }
  expect(by.gate.refusal(originOf())).toMatchObject({ reason: 'proxy' });
}

describe.each(['http', 'socks5'] as const)('a proxy of type %s', (kind) => {
  test('it is asked for the checked address, with its login and own connection', async () => {
    const by = await start(kind, 'works', 'me:p%40ss');
    expect(await post(by, originOf('localhost'))).toMatchObject({
      ok: true,
      response: { status: 200 },
    });
    expect(await post(by, originOf('localhost'))).toMatchObject({ ok: true });
    expect(proxy!.asked).toEqual([`127.0.0.1:${port(server)}`]);
    expect(
      proxy!.logins.map((login) => login.replace(/^Basic (.*)/, (_, text: string) => atob(text))),
    ).toEqual(['me:p@ss']);
    await post(undefined, originOf('localhost'));
    await post(proxyAt(by.address, 'other:login'), originOf('localhost'));
    expect(proxy!.asked).toHaveLength(2);
  });

  test('TLS goes through its tunnel, with the checks of the endpoint', async () => {
    const by = await start(kind);
    expect(await post(by, `https://localhost:${port(secure)}`)).toMatchObject({
      ok: false,
      error: { code: 'tls' },
    });
    expect(proxy!.asked).toEqual([`127.0.0.1:${port(secure)}`]);
  });

  test('with WAYPOST_PROXY_RESOLVES it gets the name, but an address is checked', async () => {
    open({ proxyResolves: true });
    const by = await start(kind);
    expect(await post(by, originOf('localhost'))).toMatchObject({ ok: true });
    expect(proxy!.asked).toEqual([`localhost:${port(server)}`]);
    expect(await post(by, 'http://10.0.0.1')).toMatchObject({
      ok: false,
      error: { code: 'forbidden_address' },
    });
    expect(proxy!.asked).toHaveLength(1);
  });

  test('a forbidden address behind it is not asked for', async () => {
    const by = await start(kind);
    open({
      guard: createAddressGuard(['127.0.0.1/32'], ['127.0.0.1/32']),
      isPortAllowed: (at) => at !== 25,
    });
    expect(await post(by)).toMatchObject({ ok: false, error: { code: 'forbidden_address' } });
    const badPort = await post(by, 'http://8.8.8.8:25');
    expect(badPort).toMatchObject({
      ok: false,
      error: { code: 'forbidden_address', message: expect.stringContaining('port 25') },
    });
    expect(proxy!.asked).toEqual([]);
  });

  test.each(['hangs', 'closes', 'refuses', 'wants login'] as const)(
    'a failure of its own (%s) is named as such, and withheld from the endpoint',
    async (mood) => {
      const result = await post(await start(kind, mood, 'me:planted'));
      expect(result).toMatchObject({
        ok: false,
        error: { code: 'proxy', phase: 'proxy' },
        excuse: { reason: 'proxy', waitMs: expect.any(Number) },
      });
      expect(JSON.stringify(result)).not.toContain('planted');
    },
  );

  test('an endpoint that it cannot reach fails like any other', async () => {
    const result = await post(await start(kind, 'unreachable'));
    const error = { code: 'connection', phase: 'connect' };
    expect(result).toMatchObject({ ok: false, error, excuse: undefined });
  });

  test('after five failures one request a second asks it, and all once it answers', async () => {
    const by = await start(kind, 'closes');
    await closesAtTheFifth(by);
    proxy!.mood = 'works';
    expect(await post(by)).toMatchObject({ ok: true });
    expect(by.gate.refusal(originOf())).toBeUndefined();
  });

  test('an endpoint that it refuses five times in a row is held until it connects', async () => {
    const by = await start(kind, 'refuses');
    await closesAtTheFifth(by);
    expect(by.gate.refusal(originOf('localhost'))).toBeUndefined();
    proxy!.mood = 'works';
    expect(await post(by)).toMatchObject({ ok: true });
    expect(by.gate.refusal(originOf())).toBeUndefined();
  });

  test('a refused endpoint is held no longer once it tries to connect, but cannot', async () => {
    const by = await start(kind, 'refuses');
    await closesAtTheFifth(by);
    proxy!.mood = 'unreachable';
    expect(await post(by)).toMatchObject({ ok: false, error: { code: 'connection' } });
    expect(by.gate.refusal(originOf())).toBeUndefined();
  });
});

describe('an endpoint that the proxy refuses', () => {
  const TARGET = 'https://a.example';
  const denied = (gate: ProxyGate, times: number) => {
    for (let i = 0; i < times; i++) gate.denied(gate.begin(TARGET));
  };

  test('an endpoint refused by the proxy gets one connection at a time, a second apart', () => {
    let now = 0;
    const gate = new ProxyGate(() => now);
    denied(gate, 5);
    const asked: number[] = [];
    for (; now < 3_500; now += 100) {
      if (gate.refusal(TARGET)) continue;
      asked.push(now);
      const probe = gate.begin(TARGET);
      now += 200;
      expect(gate.refusal(TARGET)).toMatchObject({ reason: 'proxy', waitMs: now });
      gate.denied(probe);
    }
    expect(asked).toEqual([1_000, 2_200, 3_400]);
  });

  test.each<[string, (gate: ProxyGate) => void]>([
    ['a connection to it', (gate) => gate.passes(gate.begin(TARGET))],
    ['a response over a tunnel that was open before', (gate) => gate.passes(gate.mark(TARGET))],
  ])('%s ends the hold of an endpoint that the proxy refused', (_, happen) => {
    const gate = new ProxyGate(() => 0);
    denied(gate, 9);
    happen(gate);
    expect(gate.refusal(TARGET)).toBeUndefined();
    denied(gate, 4);
    expect(gate.refusal(TARGET)).toBeUndefined();
  });

  test('refusals of one endpoint do not hold others nor count as failures of the proxy', () => {
    const changes: boolean[] = [];
    const gate = new ProxyGate(
      () => 0,
      (isDown) => changes.push(isDown),
    );
    denied(gate, 50);
    expect(gate.refusal('https://b.example')).toBeUndefined();
    expect(changes).toEqual([]);
  });
});

test.each(['hangs', 'closes'] as const)(
  'a proxy that %s while a tunnel is open is named as the cause of the next request through it',
  async (mood) => {
    const by = await start('http');
    expect(await post(by)).toMatchObject({ ok: true });
    proxy!.behave(mood);
    expect(await post(by)).toMatchObject({
      ok: false,
      error: { code: 'proxy' },
      excuse: { reason: 'proxy' },
    });
  },
);

test('the second request names an endpoint that falls silent behind an open tunnel', async () => {
  const by = await start('http');
  expect(await post(by)).toMatchObject({ ok: true });
  server.removeAllListeners('request');
  expect(await post(by)).toMatchObject({ ok: false, error: { code: 'proxy', phase: 'headers' } });
  const second = await post(by);
  const error = { code: 'timeout', phase: 'headers' };
  expect(second).toMatchObject({ ok: false, error, excuse: undefined });
});

test('a proxy that is absent is named, and one in a forbidden network is not asked', async () => {
  const gone = await start('http');
  await proxy!.close();
  expect(await post(gone)).toMatchObject({
    ok: false,
    error: { code: 'proxy', message: expect.stringContaining('ECONNREFUSED') },
  });
  const forbidden = await post(proxyAt('http://10.1.2.3:3128'));
  expect(forbidden).toMatchObject({
    ok: false,
    error: { code: 'forbidden_address', message: expect.stringContaining('the proxy') },
  });
});

test('a proxy of a destination whose name leads to a forbidden network is not asked', async () => {
  const { port: at } = await start('http');
  open({ guard: createAddressGuard([]) });
  const origin = 'http://8.8.8.8';
  const result = await post(proxyAt(`http://localhost:${String(at)}`), origin);
  expect(result).toMatchObject({ ok: false, error: { code: 'forbidden_address' } });
  expect(proxy!.asked).toEqual([]);
});

test('the proxy of the setting serves destinations without one, exempt from checks', async () => {
  const by = await start('http');
  const usual = readProxyUrl(by.address);
  if (typeof usual === 'string') throw new Error(usual);
  const own = new Proxies({ usual, now: () => clock.now(), log: pino({ level: 'silent' }) });
  expect(own.of({ address: 'none' }, String)).toBeUndefined();
  expect(own.of({ address: 'socks5://127.0.0.1:1' }, String)).toMatchObject({ isTrusted: false });
  open({ guard: createAddressGuard([]), proxyResolves: true });
  expect(await post(own.of(undefined, String), originOf('localhost'))).toMatchObject({ ok: true });
});

test.each([
  ['http', 'HTTP/1.1 102 P\r\n\r\n', 'more than 8 interim responses'],
  ['http', 'HTTP/1.1 200 OK\r\n'.padEnd(100, 'a: b\r\n'), 'more than belongs to an answer'],
  ['http', 'SSH-2.0-OpenSSH\r\n', 'byte 1 of the response (0x53)'],
  ['socks5', '\x05', 'the proxy'],
])('%s: what a proxy sends without end (%j) is bounded', async (protocol, part, message) => {
  const raw = await startRawReceiver(() => () => undefined, { onConnection: floods('', part) });
  const result = await post(proxyAt(`${protocol}://127.0.0.1:${new URL(raw.origin).port}`));
  await raw.close();
  expect(result).toMatchObject({
    ok: false,
    error: { code: 'proxy', message: expect.stringContaining(message) },
  });
});
