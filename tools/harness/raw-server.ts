import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DELIVERIES_HEADER } from '../../shared/model/batch';

/** Receivers that treat a connection as no HTTP server would. */
export interface RawServer {
  port: number;
  /**
   * the largest number of open connections, as far as it has noticed their ends; 0 if it never
   * accepts any
   */
  readonly maxConnections: number;
  close(): Promise<void>;
}

/** @param onConnection handles a connection; it must read incoming data itself */
export async function startRawServer(onConnection: (socket: Socket) => void): Promise<RawServer> {
  const sockets = new Set<Socket>();
  let maxConnections = 0;
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    maxConnections = Math.max(maxConnections, sockets.size);
    socket.once('close', () => sockets.delete(socket));
    // Errors of the other side do not matter here.
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get maxConnections() {
      return maxConnections;
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/**
 * Returns a port whose kernel no longer completes a handshake: its program sleeps, and its short
 * queue of unaccepted connections is full.
 */
export async function startNeverAccepting(): Promise<RawServer> {
  const program = `
    const server = require('node:net').createServer().listen(0, '127.0.0.1', 1, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [printed] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(printed.toString());
  // Linux queues one more than the backlog.
  const queue = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all(queue.map((socket) => once(socket, 'connect')));
  return {
    port,
    maxConnections: 0,
    close: async () => {
      for (const socket of queue) socket.destroy();
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** The part of a request's head that receivers need. */
export interface Head {
  /** end of the request in the data, including its body, which may not have arrived yet */
  end: number;
  path: string;
  /** the header webhook-id, '' if it is absent or was not requested */
  id: string;
  /** of a batch: the ids of its deliveries; undefined for any other request */
  deliveries: string[] | undefined;
}

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const ID = /\r\nwebhook-id: *([^\r]+)/i;
const DELIVERIES = `\r\n${DELIVERIES_HEADER}: `;

/**
 * Parses the head of the request at `start`; undefined if it is incomplete.
 * @param withId reads the delivery id, which costs a microsecond
 */
export function readHead(data: Buffer, start: number, withId: boolean): Head | undefined {
  const endOfHead = data.indexOf(END_OF_HEAD, start);
  if (endOfHead < 0) return undefined;
  const text = data.toString('latin1', start, endOfHead);
  const path = text.indexOf(' ') + 1;
  const deliveries = text.indexOf(DELIVERIES);
  return {
    end: endOfHead + END_OF_HEAD.length + Number(LENGTH.exec(text)?.[1] ?? 0),
    path: text.slice(path, text.indexOf(' ', path)),
    id: withId ? (ID.exec(text)?.[1] ?? '') : '',
    deliveries:
      deliveries < 0 ? undefined : lineAt(text, deliveries + DELIVERIES.length).split(','),
  };
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\r', start);
  return text.slice(start, end < 0 ? undefined : end);
}

/** Calls back for each request on a connection, however it was split into packets. */
export function onRequests(socket: Socket, onRequest: (nth: number) => void): void {
  let data: Buffer = Buffer.alloc(0);
  let nth = 0;
  socket.on('data', (chunk: Buffer) => {
    data = Buffer.concat([data, chunk]);
    for (
      let head = readHead(data, 0, false);
      head && head.end <= data.length;
      head = readHead(data, 0, false)
    ) {
      data = data.subarray(head.end);
      onRequest(nth++);
    }
  });
  socket.resume();
}
