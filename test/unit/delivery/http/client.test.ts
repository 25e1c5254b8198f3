import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { Sender, type SendResult } from '../../../../services/delivery/http/client';
import { eventually } from '../../../support/eventually';

/** Against a real server on a real socket: which connections are used. */

let server: Server;
let sender: Sender;
let opened = 0;
const waiting: ServerResponse[] = [];

beforeEach(async () => {
  opened = 0;
  waiting.length = 0;
  server = createServer((request, response) => {
    request.resume();
    if (request.url === '/wait') waiting.push(response);
    else if (request.url === '/close') response.writeHead(200, { connection: 'close' }).end('bye');
    else if (request.url === '/long') response.end('x'.repeat(100_000));
    else response.end('ok');
  });
  server.on('connection', () => opened++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  sender = new Sender({ timeoutMs: 1_000, guard: () => undefined, names: new NameResolver(1_000) });
});

afterEach(async () => {
  for (const response of waiting) response.destroy();
  await sender.close();
  server.closeAllConnections();
  server.close();
});

function post(path: string): Promise<SendResult> {
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return new Promise((resolve) => sender.send({ origin, path, headers: [], body: Buffer.from('{}') }, resolve));
}

test('one after another: one connection', async () => {
  for (let i = 0; i < 5; i++) expect(await post('/')).toMatchObject({ ok: true, answer: { status: 200 } });
  expect(opened).toBe(1);
});

test('tells how long each phase took, also of one that was given up', async () => {
  const sent = post('/wait');
  await eventually(() => expect(waiting).toHaveLength(1));
  waiting[0]!.writeHead(200).write('first');
  const { phases, durationMs, ...result } = await sent;
  expect(result).toMatchObject({ ok: false, error: { code: 'timeout', phase: 'body' } });
  // Rounded each for itself.
  const together = Object.values(phases!).reduce((sum, ms) => sum + ms, 0);
  expect(Math.abs(together - durationMs)).toBeLessThanOrEqual(2);
  expect(phases!.body).toBeGreaterThan(0);
});

test('the next one that is sent from within an answer uses its connection', async () => {
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

test('as many connections as requests at once, and no more for the next wave', async () => {
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

test('a connection that is closed with its answer is replaced, also for one that is sent from within it', async () => {
  const second = new Promise<SendResult>((resolve) => {
    void post('/close').then(() => void post('/').then(resolve));
  });
  expect(await second).toMatchObject({ ok: true });
  expect(opened).toBe(2);
});

test('what is beyond the part that is kept goes with its connection', async () => {
  const result = await post('/long');
  expect(result).toMatchObject({ ok: true, answer: { truncated: true } });
  expect(await post('/')).toMatchObject({ ok: true });
  expect(opened).toBe(2);
});

test('a request that got no answer leaves no connection behind', async () => {
  expect(await post('/wait')).toMatchObject({ ok: false, error: { code: 'timeout', phase: 'headers' } });
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

test('a port where nobody listens', async () => {
  const port = (server.address() as AddressInfo).port;
  await new Promise((resolve) => server.close(resolve));
  const result = await new Promise<SendResult>((resolve) =>
    sender.send({ origin: `http://127.0.0.1:${String(port)}`, path: '/', headers: [], body: Buffer.from('') }, resolve),
  );
  expect(result).toMatchObject({ ok: false, error: { code: 'connection', phase: 'connect' } });
});

/** Holds the event loop, as a process does that gets no CPU. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('time in which this process stood still is not the endpoint’s: what has arrived is read first', async () => {
  const answer = post('/');
  standStill(1_500);
  expect(await answer).toMatchObject({ ok: true, answer: { status: 200 } });
});

test('a deadline that passed in a standstill is told as such', async () => {
  const answer = post('/wait');
  await eventually(() => expect(waiting).toHaveLength(1));
  standStill(600);
  expect(await answer).toMatchObject({ ok: false, error: { code: 'timeout' }, stoodStill: true });
});

test('and one that passed while we watched is the endpoint’s', async () => {
  expect(await post('/wait')).not.toHaveProperty('stoodStill');
});
