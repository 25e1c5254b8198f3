import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendRequest, type SendResult } from '../../../../services/delivery/http/exchange';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { eventually } from '../../../support/eventually';

/** Reuse of connections, against a real server on a real socket. */

let server: Server;
let sender: Sender;
let clock: StallClock;
let opened = 0;
const waiting: ServerResponse[] = [];

beforeEach(async () => {
  opened = 0;
  waiting.length = 0;
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/wait') waiting.push(response);
    else if (request.url === '/close') response.writeHead(200, { connection: 'close' }).end('bye');
    else if (request.url === '/refuse') response.writeHead(401).end();
    else if (request.url === '/long') response.end('x'.repeat(100_000));
    else response.end('ok');
  });
  server.on('connection', () => opened++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  clock = new StallClock();
  sender = new Sender({
    timeoutMs: 1_000,
    guard: () => undefined,
    names: new NameResolver(1_000),
    clock,
    mostConnections: 100,
  });
});

afterEach(async () => {
  for (const response of waiting) response.destroy();
  await sender.close();
  clock.stop();
  server.closeAllConnections();
  server.close();
});

function post(path: string, own: Partial<SendRequest> = {}): Promise<SendResult> {
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const request = { origin, path, headers: [], body: Buffer.from('{}'), ...own };
  return new Promise((resolve) => sender.send(request, resolve));
}

test('sequential requests share one connection', async () => {
  for (let i = 0; i < 5; i++) {
    expect(await post('/')).toMatchObject({ ok: true, response: { status: 200 } });
  }
  expect(opened).toBe(1);
});

test('a result gives the duration of each phase, also if its body never ends', async () => {
  const sent = post('/wait');
  await eventually(() => expect(waiting).toHaveLength(1));
  waiting[0]!.writeHead(200).write('first');
  const { phases, durationMs, ...result } = await sent;
  expect(result).toMatchObject({ ok: true, response: { status: 200, oddities: ['body_cut'] } });
  // Each phase is rounded separately.
  const together = Object.values(phases!).reduce((sum, ms) => sum + ms, 0);
  expect(Math.abs(together - durationMs)).toBeLessThanOrEqual(2);
  expect(phases!.body).toBeGreaterThan(0);
});

test('a response that is no 2xx has the signature of its request', async () => {
  const signed = { headers: ['webhook-timestamp', '1', 'x-key', 'secret'], signatureEntries: 2 };
  const refused = await post('/refuse', signed);
  expect(refused).toMatchObject({ response: { signature: ['webhook-timestamp', '1'] } });
  const accepted = await post('/', signed);
  expect(accepted.ok && accepted.response.signature).toBeUndefined();
});

test('a request that lost its permission while it awaited a connection is not sent', async () => {
  await post('/');
  expect(await post('/wait', { isPermitted: () => false })).toMatchObject({
    ok: false,
    excuse: 'unpermitted',
  });
  const held = post('/wait');
  expect(await post('/wait', { isPermitted: () => false })).toMatchObject({ ok: false });
  await eventually(() => expect(waiting).toHaveLength(1));
  waiting[0]!.end('ok');
  expect(await held).toMatchObject({ ok: true });
  expect(await post('/', { isPermitted: () => true })).toMatchObject({ ok: true });
});

test('a request sent from within a response reuses its connection', async () => {
  let left = 50;
  await new Promise<void>((resolve) => {
    const next = (): void => {
      if (left-- === 0) return resolve();
      const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
      sender.send({ origin, path: '/', headers: [], body: Buffer.from('{}') }, next);
    };
    next();
  });
  expect(opened).toBe(1);
});

test('concurrent requests open a connection each, and the next wave opens no more', async () => {
  const wave = () => {
    const all = Array.from({ length: 8 }, () => post('/wait'));
    return eventually(() => expect(waiting).toHaveLength(8)).then(() => {
      for (const response of waiting.splice(0)) response.end('ok');
      return Promise.all(all);
    });
  };
  await wave();
  await wave();
  expect(opened).toBe(8);
});

test('a connection that closes with its response is replaced, even from within it', async () => {
  const second = new Promise<SendResult>((resolve) => {
    void post('/close').then(() => void post('/').then(resolve));
  });
  expect(await second).toMatchObject({ ok: true });
  expect(opened).toBe(2);
});

test('a response longer than the stored part is cut off with its connection', async () => {
  const result = await post('/long');
  expect(result).toMatchObject({ ok: true, response: { truncated: true } });
  expect(await post('/')).toMatchObject({ ok: true });
  expect(opened).toBe(2);
});

test('a request without a response leaves no connection behind', async () => {
  expect(await post('/wait')).toMatchObject({
    ok: false,
    error: { code: 'timeout', phase: 'headers' },
  });
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        server.getConnections((error, count) => {
          if (error ?? count > 0) reject(new Error(`${String(count)} are open`));
          else resolve();
        });
      }),
  );
  expect(await post('/')).toMatchObject({ ok: true });
});

test('a longer timeout of a request outlasts the others, and a shorter ends first', async () => {
  const ended: string[] = [];
  const longest = post('/wait', { timeoutMs: 30_000 }).then(
    (result) => (ended.push('longest'), result),
  );
  await Promise.all([
    post('/wait').then(({ ok }) => ended.push(`usual ${String(ok)}`)),
    post('/wait', { timeoutMs: 300 }).then(({ ok }) => ended.push(`short ${String(ok)}`)),
  ]);
  expect(ended).toEqual(['short false', 'usual false']);
  expect([sender.inFlight, sender.longestTimeoutMs]).toEqual([1, 30_000]);
  for (const response of waiting) response.end('ok');
  expect(await longest).toMatchObject({ ok: true });
  expect(sender.inFlight).toBe(0);
});

test('a closed port gives a connection error', async () => {
  const port = (server.address() as AddressInfo).port;
  await new Promise((resolve) => server.close(resolve));
  const result = await new Promise<SendResult>((resolve) =>
    sender.send(
      { origin: `http://127.0.0.1:${String(port)}`, path: '/', headers: [], body: Buffer.from('') },
      resolve,
    ),
  );
  expect(result).toMatchObject({ ok: false, error: { code: 'connection', phase: 'connect' } });
});

/** Blocks the event loop, as in a process that gets no CPU. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('after this process stood still, arrived responses are read before deadlines', async () => {
  const answer = post('/');
  standStill(1_500);
  expect(await answer).toMatchObject({ ok: true, response: { status: 200 } });
});

test('a deadline that passes during a standstill is marked as such', async () => {
  const answer = post('/wait');
  await eventually(() => expect(waiting).toHaveLength(1));
  standStill(600);
  expect(await answer).toMatchObject({
    ok: false,
    error: { code: 'timeout' },
    excuse: 'own_fault',
  });
});

test('a deadline that passes while the process runs counts against the endpoint', async () => {
  expect(await post('/wait')).toMatchObject({ ok: false, excuse: undefined });
});
