import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Receivers that treat a connection as no HTTP server would. */
export interface RawServer {
  port: number;
  /** the largest number of open connections, as far as it has noticed their ends; 0 if it never accepts any */
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
 * Returns a port whose kernel no longer completes a handshake: its program sleeps, and its short queue of unaccepted
 * connections is full.
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

const HEAD_END = '\r\n\r\n';

/** Calls back for each request on a connection, however it was split into packets. */
export function onRequests(socket: Socket, onRequest: (nth: number) => void): void {
  let text = '';
  let nth = 0;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    for (;;) {
      const head = text.indexOf(HEAD_END);
      const length = Number(/^content-length: *(\d+)\r$/im.exec(text.slice(0, Math.max(0, head) + 2))?.[1] ?? 0);
      const end = head + HEAD_END.length + length;
      if (head < 0 || text.length < end) return;
      text = text.slice(end);
      onRequest(nth++);
    }
  });
  socket.resume();
}
