import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { logLevel } from 'kafkajs';
import { kafkajsClient } from '../../../../shared/kafka/kafkajs/patches';

/** A broker that accepts the connection, but answers too late. */

const API_VERSIONS = 18;
const METADATA = 3;

const int16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
const text = (value: string) => Buffer.concat([int16(value.length), Buffer.from(value)]);

async function startBroker(answers: { on: boolean }) {
  const requests: number[] = [];
  const sockets = new Set<Socket>();
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
          ...[int16(0), int32(2)],
          ...[API_VERSIONS, 0, 2].map(int16),
          ...[METADATA, 1, 1].map(int16),
          int32(0),
        ]),
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
      socket.write(Buffer.concat([int32(answer.length), answer]));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { address: `127.0.0.1:${String((server.address() as AddressInfo).port)}`, requests, close };
}

test('a client uses a broker that did not answer its first request in time as soon as the broker answers', async () => {
  const answers = { on: false };
  const broker = await startBroker(answers);
  const admin = kafkajsClient({
    brokers: [broker.address],
    requestTimeout: 100,
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
