import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** A TCP server that answers each whole request as the test says, in bytes. */

export type Treatment = (socket: Socket) => void;

export interface RawReceiver {
  readonly origin: string;
  /** number of connections so far */
  readonly connections: number;
  /** path of each request */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

/** @param treat returns the treatment of the request with this path; its body is `{}` */
export async function startRawReceiver(
  treat: (path: string, request: string) => Treatment,
  onConnection: Treatment = () => undefined,
): Promise<RawReceiver> {
  let connections = 0;
  const paths: string[] = [];
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    connections++;
    open.add(socket);
    let text = '';
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('{}')) return;
      const path = /^\S+ (\S*)/.exec(text)?.[1] ?? '';
      paths.push(path);
      const request = text;
      text = '';
      treat(path, request)(socket);
    });
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    get connections() {
      return connections;
    },
    paths,
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Writes the parts one after the other, each once the one before has left, and then does as told.
 */
export function writes(
  parts: readonly (string | Buffer)[],
  then: 'wait' | 'end' | 'reset' = 'wait',
): Treatment {
  return (socket) => {
    const [part, ...others] = parts;
    if (socket.destroyed) return;
    if (part !== undefined) {
      const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
      socket.write(bytes, () => setImmediate(() => writes(others, then)(socket)));
    } else if (then === 'end') socket.end();
    else if (then === 'reset') socket.resetAndDestroy();
  };
}

/** Writes the beginning, and then the same again and again, as fast as it is read. */
export function floods(beginning: string, part: string): Treatment {
  return (socket) => {
    const block = Buffer.from(part.repeat(Math.ceil(4_096 / part.length)), 'latin1');
    const more = () => {
      if (!socket.destroyed) socket.write(block, more);
    };
    socket.write(Buffer.from(beginning, 'latin1'), more);
  };
}
