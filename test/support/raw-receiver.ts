import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Certificate } from './certificate';

/** A server that answers each whole request as the test says, in bytes. */

export type Treatment = (socket: Socket) => void;

export interface RawReceiver {
  readonly origin: string;
  /** number of connections so far */
  readonly connections: number;
  /** path of each request */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

export interface RawReceiverOptions {
  onConnection?: Treatment;
  /** absent: it speaks no TLS */
  tls?: Certificate | undefined;
}

/** @param treat returns the treatment of the request with this path */
export async function startRawReceiver(
  treat: (path: string, request: string) => Treatment,
  { onConnection = () => undefined, tls }: RawReceiverOptions = {},
): Promise<RawReceiver> {
  let connections = 0;
  const paths: string[] = [];
  const open = new Set<Socket>();
  const server: Server = createServer((raw) => {
    connections++;
    open.add(raw);
    raw.setNoDelay(true);
    raw.on('error', () => undefined);
    raw.on('close', () => open.delete(raw));
    const socket = tls ? secured(raw, tls) : raw;
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!isWhole(text)) return;
      const path = /^\S+ (\S*)/.exec(text)?.[1] ?? '';
      paths.push(path);
      const request = text;
      text = '';
      treat(path, request)(socket);
    });
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${String(port)}`,
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

/** TLS itself has no reset: its connection below has. */
function secured(raw: Socket, { cert, key }: Certificate): Socket {
  const socket = new TLSSocket(raw, { isServer: true, cert, key });
  socket.resetAndDestroy = () => {
    raw.resetAndDestroy();
    return socket;
  };
  return socket;
}

function isWhole(request: string): boolean {
  const end = request.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: *(\d+)/i.exec(request)?.[1] ?? '0';
  return end >= 0 && request.length >= end + 4 + Number(length);
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

/** Interim responses without end. */
export const floodsInterim = floods('', 'HTTP/1.1 102 P\r\n\r\n');
