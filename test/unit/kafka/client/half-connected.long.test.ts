import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { logLevel } from 'kafkajs';
import { kafkajsClient, patchKafkajs } from '../../../../shared/kafka/client/patches';

/**
 * Several callers connect to a broker that accepts the connection, but answers too late or refuses
 * the login.
 */

const API_VERSIONS = 18;
const SASL_HANDSHAKE = 17;
const METADATA = 3;

const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number) =>
  Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)]);

const MECHANISM = 'TEST';

async function startBroker(answers: { on: boolean }) {
  const requests: number[] = [];
  const sockets = new Set<Socket>();
  let late: (() => void) | undefined;
  let wasHeld: () => void = () => undefined;
  let isHolding = false;
  const heldOnce = new Promise<void>((resolve) => (wasHeld = resolve));
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (request) => {
      const key = request.readInt16BE(4);
      requests.push(key);
      if (!answers.on) return;
      const { port } = server.address() as AddressInfo;
      const bodies: Record<number, Buffer> = {
        // No error, two requests in their versions, no throttle.
        [API_VERSIONS]: Buffer.concat([
          int16(0),
          int32(3),
          ...[API_VERSIONS, 0, 2].map(int16),
          ...[METADATA, 1, 1].map(int16),
          ...[SASL_HANDSHAKE, 1, 1].map(int16),
          int32(0),
        ]),
        [SASL_HANDSHAKE]: Buffer.concat([int16(0), int32(1), text(MECHANISM)]),
        // One broker without a rack, the controller, no topics.
        [METADATA]: Buffer.concat([
          int32(1),
          int32(1),
          text('127.0.0.1'),
          int32(port),
          int16(65_535),
          int32(1),
          int32(0),
        ]),
      };
      const answer = Buffer.concat([request.subarray(8, 12), bodies[key]!]);
      const write = () => socket.write(Buffer.concat([int32(answer.length), answer]));
      if (key !== METADATA || !isHolding) return void write();
      late = write;
      wasHeld();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  const hold = () => (isHolding = true);
  const release = () => {
    isHolding = false;
    late?.();
  };
  const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { address, requests, close, hold, held: () => heldOnce, release };
}

test('a client uses a broker that missed its first request as soon as it answers', async () => {
  const answers = { on: false };
  const broker = await startBroker(answers);
  const admin = kafkajsClient({
    brokers: [broker.address],
    // Only its first request may run out of time.
    requestTimeout: 2_000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  }).admin();
  await expect(admin.connect()).rejects.toThrow('timed out');
  answers.on = true;
  await admin.connect();
  expect(await admin.describeCluster()).toMatchObject({ controller: 1, brokers: [{ nodeId: 1 }] });
  expect(broker.requests.slice(0, 2)).toEqual([API_VERSIONS, API_VERSIONS]);
  await admin.disconnect();
  broker.close();
});

interface Connection {
  authenticatedAt: unknown;
}
interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  isConnected(): boolean;
  metadata(topics: string[]): Promise<object>;
  connectionPool: {
    pool: Connection[];
    getConnection(index: number): Promise<{ send(request: object): Promise<object> }>;
  };
}

/** Returns a broker as the cluster of kafkajs makes it. */
function brokerAt(port: number, more: object): Broker {
  patchKafkajs();
  /* eslint-disable @typescript-eslint/no-require-imports -- kafkajs does not export it */
  const { createLogger, LEVELS } = require('kafkajs/src/loggers') as {
    createLogger(options: object): object;
    LEVELS: { NOTHING: number };
  };
  const BrokerClass = require('kafkajs/src/broker') as new (options: object) => Broker;
  const Pool = require('kafkajs/src/network/connectionPool') as new (options: object) => object;
  /* eslint-enable @typescript-eslint/no-require-imports */
  const logger = createLogger({ level: LEVELS.NOTHING, logCreator: () => () => undefined });
  const options = {
    host: '127.0.0.1',
    port,
    logger,
    connectionTimeout: 1_000,
    requestTimeout: 30_000,
    ...more,
  };
  return new BrokerClass({ connectionPool: new Pool(options), logger });
}

type SocketFactory = (options: { onConnect: () => void }) => Socket;
const to =
  (port: () => number): SocketFactory =>
  ({ onConnect }) =>
    connect(port(), '127.0.0.1', onConnect);
const portOf = ({ address }: { address: string }) => Number(address.split(':')[1]);

test('a refused login leaves a fetch alone, and the next makes the broker usable', async () => {
  const answers = { on: true };
  const server = await startBroker(answers);
  let refusal: Error | undefined;
  const authenticate = () => (refusal ? Promise.reject(refusal) : Promise.resolve());
  const sasl = { mechanism: MECHANISM, authenticationProvider: () => ({ authenticate }) };
  const broker = brokerAt(portOf(server), { sasl, socketFactory: to(() => portOf(server)) });
  await broker.connect();
  const fetches = await broker.connectionPool.getConnection(1);
  expect(fetches).toBe(broker.connectionPool.pool[1]);
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- kafkajs does not export it
  const { requests } = require('kafkajs/src/protocol/requests') as {
    requests: { Metadata: { protocol(of: object): (request: object) => object } };
  };
  const request = requests.Metadata.protocol({ version: 1 })({ topics: [] });
  await fetches.send(request);
  server.hold();
  const fetched = fetches.send(request);
  await server.held();
  for (const connection of broker.connectionPool.pool) connection.authenticatedAt = null;

  refusal = new Error('the login is refused');
  await expect(broker.connect()).rejects.toBe(refusal);
  refusal = undefined;
  await broker.connect();
  server.release();
  expect(await fetched).toMatchObject({ controllerId: 1 });
  expect(broker.isConnected()).toBe(true);
  expect(await broker.metadata([])).toMatchObject({ controllerId: 1 });
  await broker.disconnect();
  server.close();
});

test('callers share an attempt to connect, and its failure spoils none of the next', async () => {
  const [gone, server] = [await startBroker({ on: true }), await startBroker({ on: true })];
  gone.close();
  const ports = [portOf(gone), portOf(server), portOf(server)];
  const broker = brokerAt(portOf(server), { socketFactory: to(() => ports.shift()!) });
  const results = await Promise.allSettled([broker.connect(), broker.connect(), broker.connect()]);
  expect(results.map((result) => (result as PromiseRejectedResult).reason as Error)).toEqual(
    Array(3).fill(expect.objectContaining({ code: 'ECONNREFUSED' })),
  );
  await broker.connect();
  expect(await broker.metadata([])).toMatchObject({ controllerId: 1 });
  expect(ports).toHaveLength(1);
  await broker.disconnect();
  server.close();
});
