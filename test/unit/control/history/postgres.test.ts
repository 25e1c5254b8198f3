import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { openPostgres } from '../../../../services/control/history/postgres';

/** A server that accepts connections and answers no query. */

const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
let server: Server;
let url: string;
let asked: Promise<unknown>;
const sockets = new Set<Socket>();
beforeEach(async () => {
  server = createServer();
  asked = new Promise((resolve) => {
    server.on('connection', (socket) => {
      sockets.add(socket);
      // What it sends first opens the connection, and the next is the query.
      socket.once('data', () => {
        socket.write(READY);
        socket.once('data', resolve);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `postgres://waypost@127.0.0.1:${(server.address() as AddressInfo).port}/waypost`;
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('a query that a server never answers ends, although the server does not end it', async () => {
  const keepAlive = jest.spyOn(Socket.prototype, 'setKeepAlive');
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const opening = openPostgres(url);
  await asked;
  jest.advanceTimersByTime(60_000);
  await expect(opening).rejects.toThrow('Query read timeout');
  expect(keepAlive).toHaveBeenCalledWith(true, 10_000);
});
