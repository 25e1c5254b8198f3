import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { type Brokers } from '../../../../shared/kafka/client/brokers';
import { logsOf } from '../../../../shared/kafka/client/consumer-brokers';
import { type Connection, Wire } from '../../../../shared/kafka/client/wire';
import { eventually } from '../../../support/eventually';

/** Uses kafkajs's own connection over a real socket, so that the tests fail if it changes. */

interface TheirConnection extends Connection {
  send(protocol: object): Promise<unknown>;
}
const TheirConnection = jest.requireActual<new (options: object) => TheirConnection>(
  'kafkajs/src/network/connection',
);
const Encoder = jest.requireActual<new () => { writeString(text: string): object }>(
  'kafkajs/src/protocol/encoder',
);

const API = { key: 99, version: 7 };

let server: Server;
let connection: TheirConnection;
/** the requests that the broker got, each with what answers it */
let requests: { id: number; key: number; text: string; answer: (text: string) => void }[];
let sockets: Socket[];

beforeEach(async () => {
  requests = [];
  sockets = [];
  server = createServer((socket) => {
    sockets.push(socket);
    let all = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      all = Buffer.concat([all, chunk]);
      while (all.length >= 4 && all.length >= 4 + all.readInt32BE(0)) {
        const request = all.subarray(4, 4 + all.readInt32BE(0));
        all = all.subarray(4 + all.readInt32BE(0));
        const id = request.readInt32BE(4);
        const text = request.toString('utf8', 10 + request.readInt16BE(8));
        const answer = (said: string) => void socket.write(answerOf(id, said));
        requests.push({ id, key: request.readInt16BE(0), text, answer });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const logger = { debug: () => undefined, error: () => undefined, namespace: () => logger };
  connection = new TheirConnection({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    logger,
    socketFactory: ({ host, port, onConnect }: { host: string; port: number; onConnect(): void }) =>
      connect(port, host, onConnect),
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    clientId: 'test',
  });
});

afterEach(async () => {
  await connection.disconnect();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

function answerOf(id: number, text: string): Buffer {
  const answer = Buffer.alloc(8);
  answer.writeInt32BE(4 + text.length, 0);
  answer.writeInt32BE(id, 4);
  return Buffer.concat([answer, Buffer.from(text)]);
}

/** Returns why a request got no answer. */
const reasonOf = (error: unknown) => (error as Error).message;

async function openWire(): Promise<Wire> {
  const wire = Wire.of(connection);
  await wire.open();
  return wire;
}

/** Sends a request. @returns the text of its answer */
async function ask(wire: Wire, text: string, timeoutMs = 60_000): Promise<string> {
  const answer = await wire.call(API, (to) => to.raw(text, text.length), timeoutMs);
  return answer.buffer.toString('utf8', answer.at);
}

async function received(count: number) {
  return eventually(() => {
    expect(requests).toHaveLength(count);
    return requests;
  });
}

test('answers in any order reach their requests, also those of kafkajs', async () => {
  const wire = await openWire();
  const theirs = connection.send({
    request: { apiKey: 18, apiVersion: 0, encode: () => new Encoder().writeString('their') },
    response: { decode: (raw: Buffer) => raw, parse: (raw: Buffer) => raw.toString() },
  });
  const ours = [ask(wire, 'one'), ask(wire, 'two')];
  const all = await received(3);
  for (const { text, answer } of [...all].reverse()) answer(`to ${text}`);
  expect(await Promise.all(ours)).toEqual(['to one', 'to two']);
  expect(await theirs).toContain('their');
});

test('an answer whose head is broken is the error of its request alone', async () => {
  const wire = await openWire();
  const broken = wire.call({ ...API, flexible: true }, (to) => to.int8(1), 60_000);
  (await received(1))[0]!.answer('\u007f');
  await expect(broken).rejects.toThrow('the head of an answer cannot be read');
  const asked = ask(wire, 'next');
  (await received(2))[1]!.answer('b');
  expect(await asked).toBe('b');
});

test('a request is written at once', async () => {
  const wire = await openWire();
  const write = jest.spyOn(connection.socket!, 'write');
  const asked = ask(wire, 'a'.repeat(1_000));
  expect(write).toHaveBeenCalledTimes(1);
  (await received(1))[0]!.answer('b');
  expect(await asked).toBe('b');
});

test('a request that its writer refuses is not sent, and the connection stays', async () => {
  const wire = await openWire();
  const refused = wire.call(
    API,
    () => {
      throw new Error('too late');
    },
    60_000,
  );
  await expect(refused).rejects.toThrow('too late');
  const asked = ask(wire, 'next');
  const [only] = await received(1);
  only!.answer('b');
  expect(await asked).toBe('b');
});

test('half an answer of a broken connection does not begin the next answer', async () => {
  const wire = await openWire();
  const asked = ask(wire, 'one').catch(reasonOf);
  const [request] = await received(1);
  sockets[0]!.write(answerOf(request!.id, 'a long answer').subarray(0, 12));
  await eventually(() => expect(connection.bytesBuffered).toBeGreaterThan(0));
  sockets[0]!.end();
  expect(await asked).toContain('Closed connection');

  await wire.open();
  const again = ask(wire, 'two');
  (await received(2))[1]!.answer('whole');
  expect(await again).toBe('whole');
});

test('whoever connects while a connection closes keeps the new one', async () => {
  const wire = await openWire();
  const failing = ask(wire, 'one').catch(reasonOf);
  await received(1);
  const closing = wire.close(new Error('overdue'));
  const opening = wire.open();
  expect(await failing).toBe('overdue');
  await Promise.all([closing, opening]);
  const asked = ask(wire, 'two');
  (await received(2))[1]!.answer('here');
  expect(await asked).toBe('here');
});

test('a connection that is closed again and again adds no listeners to its socket', async () => {
  const wire = await openWire();
  const socket = connection.socket!;
  for (let i = 0; i < 5; i++) await wire.close(new Error('away'));
  await connection.disconnect();
  expect(socket.listenerCount('connect')).toBe(0);
});

test('callers that connect at the same time share a socket', async () => {
  const wire = Wire.of(connection);
  await Promise.all([connection.connect(), wire.open(), connection.connect()]);
  await wire.open();
  const asked = ask(wire, 'one');
  (await received(1))[0]!.answer('here');
  expect(await asked).toBe('here');
  expect(sockets).toHaveLength(1);
});

test('kafkajs ends the requests of a connection that it closes', async () => {
  const wire = await openWire();
  const asked = ask(wire, 'one').catch(reasonOf);
  await received(1);
  await connection.disconnect();
  expect(await asked).toBe('the connection was closed');
  expect(await ask(wire, 'two').catch(reasonOf)).toBe('the connection is closed');
});

test('a connection closes when an answer is late, and waits while a broker throttles', async () => {
  const wire = await openWire();
  wire.throttle(50);
  const asked = ask(wire, 'one', 0).catch(reasonOf);
  expect(requests).toEqual([]);
  await received(1);
  expect(await asked).toBe('the broker gave no answer in time');
  expect(wire.isOpen).toBe(false);
});

test('a wire that was opened again is another connection to readers of logs', async () => {
  const wireTo = async () => {
    const wire = Wire.of(connection);
    await wire.open();
    return wire;
  };
  const logs = logsOf({ wireTo } as unknown as Brokers);
  const first = await logs.openFetches(1);
  expect(await logs.openFetches(1)).toBe(first);
  sockets[0]!.end();
  await eventually(() => expect(first.isOpen).toBe(false));
  const second = await logs.openFetches(1);
  expect(second).not.toBe(first);
  expect([first.isOpen, second.isOpen]).toEqual([false, true]);
});
