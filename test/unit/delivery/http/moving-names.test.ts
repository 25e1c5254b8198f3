import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { createAddressGuard } from '../../../../shared/model/address-guard';
import { type NameServer, startNameServer } from '../../../support/name-server';

/**
 * Names that move while their connections are kept, with a real name server, real sockets, and a
 * clock that the test moves.
 */

const TTL_S = 10;
const FOLLOWED_WITHIN_MS = TTL_S * 1_000 + 2_000;
const PLACES = ['127.0.0.1', '127.0.0.2'];

let names: NameServer;
let servers: Server[];
let port: number;
let sender: Sender;
let clock: StallClock;
let nowMs: number;
/** addresses of the servers, in the order of their connections */
let opened: string[];

beforeEach(async () => {
  names = await startNameServer({ 'moves.test': PLACES[0]!, 'stays.test': PLACES[0]! }, TTL_S);
  opened = [];
  servers = [];
  port = 0;
  for (const place of PLACES) {
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) =>
      request.resume().on('end', () => response.end(place)),
    );
    server.on('connection', () => opened.push(place));
    await new Promise<void>((resolve) => server.listen(port, place, resolve));
    ({ port } = server.address() as AddressInfo);
    servers.push(server);
  }
  const now = performance.now.bind(performance);
  const begunAt = now();
  nowMs = begunAt;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs + (now() - begunAt) / 1_000);
  clock = new StallClock();
  sender = new Sender({
    timeoutMs: 5_000,
    guard: createAddressGuard(['127.0.0.0/8']),
    names: new NameResolver(1_000, [names.address]),
    clock,
    mostConnections: 100,
  });
});

afterEach(async () => {
  await sender.close();
  clock.stop();
  jest.restoreAllMocks();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await names.close();
});

function post(host: string): Promise<SendResult> {
  const origin = `http://${host}:${String(port)}`;
  const request = { origin, path: '/', headers: [], body: Buffer.from('{}') };
  return new Promise((resolve) => sender.send(request, resolve));
}

/** Returns which server answered. */
async function placeOf(host: string): Promise<string> {
  const result = await post(host);
  return result.ok ? result.response.body.toString() : result.error.message;
}

test.each([
  ['50 a second', 20],
  ['one in 100 seconds', 100_000],
])('at %s, a name that moves is followed within its TTL and 2 s', async (_, everyMs) => {
  expect(await placeOf('moves.test')).toBe(PLACES[0]);
  nowMs += everyMs;
  expect(await placeOf('moves.test')).toBe(PLACES[0]);
  names.answer('moves.test', PLACES[1]!);
  const movedAt = nowMs;
  const places: [number, string][] = [];
  while (nowMs - movedAt < FOLLOWED_WITHIN_MS + 2 * everyMs) {
    nowMs += everyMs;
    places.push([nowMs - movedAt, await placeOf('moves.test')]);
  }
  const late = places.filter(([atMs]) => atMs > FOLLOWED_WITHIN_MS).map(([, place]) => place);
  expect(new Set(late)).toEqual(new Set([PLACES[1]]));
  expect(opened).toEqual(PLACES);
});

test.each([
  ['50 a second', 20, 2_000],
  ['one in 100 seconds', 100_000, 20],
])('at %s, a name that stays costs no second connection', async (_, everyMs, count) => {
  for (let i = 0; i < count; i++) {
    expect(await placeOf('stays.test')).toBe(PLACES[0]);
    nowMs += everyMs;
  }
  expect(opened).toEqual([PLACES[0]]);
  // One for each TTL at most.
  expect(names.asked.length).toBeLessThanOrEqual(1 + (everyMs * count) / (TTL_S * 1_000));
  expect(names.asked.length).toBeGreaterThan(1);
});

test.each(['failing', 'silent'])(
  'a kept connection outlasts a name server that is %s',
  async (mood) => {
    await post('stays.test');
    names.answer('stays.test', mood);
    for (let i = 0; i < 3; i++) {
      nowMs += 100_000;
      expect(await placeOf('stays.test')).toBe(PLACES[0]);
    }
    expect(opened).toEqual([PLACES[0]]);
  },
);

test('a kept connection is left once the name has no address', async () => {
  await post('moves.test');
  names.answer('moves.test', 'missing');
  nowMs += 100_000;
  expect(await post('moves.test')).toMatchObject({ ok: false, error: { code: 'dns' } });
});

test.each([
  ['alone', '10.66.0.1'],
  ['beside its own', `${PLACES[0]!},10.66.0.1`],
])('a name with a forbidden address %s is away until it has none', async (_, answer) => {
  await post('moves.test');
  names.answer('moves.test', answer);
  nowMs += 100_000;
  const error = { code: 'forbidden_address', phase: 'dns' };
  expect(await post('moves.test')).toMatchObject({ ok: false, error });
  names.answer('moves.test', PLACES[1]!);
  nowMs += 100_000;
  expect(await placeOf('moves.test')).toBe(PLACES[1]);
});

test('a forbidden address in a URL is final', async () => {
  const result = await post('10.66.0.1');
  expect(result).toMatchObject({ ok: false, error: { code: 'forbidden_address' } });
  expect(result).not.toHaveProperty('error.phase');
});
