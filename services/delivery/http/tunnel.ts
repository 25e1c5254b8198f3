import { connect, type LookupFunction, type Socket } from 'node:net';
import { SocksClient } from 'socks';
import { defined } from '../../../shared/collections/defined';
import { literalAddress } from '../../../shared/model/address-guard';
import { loginOf, type ProxyUrl } from '../../../shared/model/proxy-url';
import { ForbiddenAddressError } from './forbidden-address';
import { type Opening, type ProxyGate } from './proxy-gate';
import {
  endOfHead,
  findStatusLine,
  isTrickle,
  MOST_HEAD_BYTES,
  MOST_HEAD_LINES,
} from './read-response';

/** Opens connections through egress proxies: HTTP CONNECT and SOCKS5. */

export interface Proxy extends ProxyUrl {
  /** tells proxies and logins apart */
  readonly key: string;
  /** it was set by the operator, and may be in any network */
  readonly isTrusted: boolean;
  readonly gate: ProxyGate;
}

/** The proxy is the cause: it is away, refuses the login, or refuses to connect. */
export class ProxyError extends Error {
  /** @param message one line without the login */
  constructor(message: string) {
    super(message);
    this.name = 'ProxyError';
  }
}

/** The proxy answers, and refuses to connect to this target. */
class DeniedError extends ProxyError {}

/** The proxy answered that it could not reach the endpoint. */
export class UnreachableError extends Error {
  constructor(readonly code: string) {
    super(`the proxy could not reach the endpoint (${code})`);
    this.name = 'UnreachableError';
  }
}

/** Host (a name, or an address without brackets) and port of the endpoint. */
interface TunnelTarget {
  host: string;
  port: number;
}

export interface TunnelOptions {
  proxy: Proxy;
  /** its wait for the proxy */
  opening: Opening;
  target: TunnelTarget;
  lookup: LookupFunction;
  /** of addresses of the proxy; absent if it is trusted */
  guard?: (address: string, hostname: string) => Error | undefined;
  /** end of the attempt to open it, even if nothing else ends it, ms */
  timeoutMs: number;
  /** receives the socket as soon as there is one: destroying it ends the attempt */
  onSocket: (socket: Socket) => void;
}

/** @throws ProxyError, UnreachableError, or the error that the socket was destroyed with */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const { proxy, target, opening } = options;
  try {
    const socket = await connectTo(options);
    const tunnel =
      proxy.protocol === 'http'
        ? await httpTunnel(socket, proxy, target)
        : await socksTunnel(socket, options);
    proxy.gate.passes(opening);
    return tunnel;
  } catch (error) {
    judge(error, options);
    throw error;
  }
}

/** Tells the gate what an error says about the proxy. */
function judge(error: unknown, { proxy: { gate }, opening }: TunnelOptions): void {
  if (error instanceof UnreachableError) return gate.passes(opening);
  if (error instanceof DeniedError) return gate.denied(opening);
  // Silence about one endpoint, while others get answers, is the endpoint's. A forbidden address
  // was not asked at all.
  if (gate.answeredSince(opening) || error instanceof ForbiddenAddressError) gate.left(opening);
  else {
    gate.failed(opening, error instanceof ProxyError ? error.message : 'the proxy did not answer');
  }
}

function connectTo({ proxy, lookup, guard, timeoutMs, onSocket }: TunnelOptions): Promise<Socket> {
  const { hostname, port } = proxy;
  const literal = literalAddress(hostname);
  const refusal = literal === undefined ? undefined : guard?.(literal, hostname);
  if (refusal) return Promise.reject(refusal);
  const socket = connect({ host: hostname, port, lookup, autoSelectFamily: true });
  onSocket(socket);
  socket.setNoDelay(true);
  const timer = setTimeout(
    () => socket.destroy(new ProxyError('the proxy did not answer')),
    timeoutMs,
  );
  socket.once('close', () => clearTimeout(timer));
  return new Promise((resolve, reject) => {
    socket.once('error', (error: NodeJS.ErrnoException) => reject(proxyErrorOf(error)));
    socket.once('connect', () => {
      const peer = socket.remoteAddress;
      const forbidden = peer === undefined ? undefined : guard?.(peer, hostname);
      if (forbidden) socket.destroy(forbidden);
      else resolve(socket);
    });
    // After the tunnel is open, the connection has its own deadlines.
    socket.once('tunnel', () => clearTimeout(timer));
  });
}

/** Errors of the guard and of the deadline stay as they are: they have no code of the system. */
function proxyErrorOf(error: NodeJS.ErrnoException): Error {
  if (error instanceof ProxyError || error.code === undefined) return error;
  const where =
    error.syscall?.startsWith('connect') || error.name === 'DnsError'
      ? 'could not be reached'
      : 'closed the connection';
  return new ProxyError(`the proxy ${where} (${error.code})`);
}

const LOGIN_REQUIRED = 407;
/** The proxy could not connect, or waited too long for the endpoint. */
const UNREACHABLE: ReadonlySet<number> = new Set([502, 503, 504]);

const TOO_MUCH = 'the proxy sent more than belongs to an answer';

const NO_HEAD = { end: undefined, lines: 0 };

function httpTunnel(socket: Socket, proxy: Proxy, { host, port }: TunnelTarget): Promise<Socket> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `host: ${authority}`];
  if (proxy.userInfo !== undefined) {
    const { user, password } = loginOf(proxy.userInfo);
    lines.push(
      `proxy-authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    );
  }
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    let reads = 0;
    const leave = () => void socket.off('readable', read).off('close', closed);
    const closed = () => reject(new ProxyError('the proxy closed the connection'));
    const fail = (error: Error) => {
      leave();
      socket.destroy();
      reject(error);
    };
    const read = () => {
      const part = socket.read() as Buffer | null;
      if (!part) return;
      bytes = Buffer.concat([bytes, part]);
      reads++;
      const line = findStatusLine(bytes);
      if (line.kind === 'unreadable') {
        fail(new ProxyError(`the answer of the proxy cannot be read: ${line.why}`));
        return;
      }
      if (line.kind === 'found' && line.status >= 300) {
        fail(refusedBy(line.status));
        return;
      }
      const { end, lines } =
        line.kind === 'found' ? endOfHead(bytes, line.at, MOST_HEAD_LINES) : NO_HEAD;
      if (end !== undefined) {
        leave();
        // What the endpoint has sent already.
        if (end < bytes.length) socket.unshift(bytes.subarray(end));
        resolve(opened(socket));
        return;
      }
      const isTooMuch =
        bytes.length > MOST_HEAD_BYTES || isTrickle(reads, bytes.length) || lines > MOST_HEAD_LINES;
      if (isTooMuch) fail(new ProxyError(TOO_MUCH));
    };
    socket.on('readable', read).on('close', closed);
    socket.once('error', (error) => reject(proxyErrorOf(error)));
  });
}

function refusedBy(status: number): Error {
  if (UNREACHABLE.has(status)) return new UnreachableError(String(status));
  if (status === LOGIN_REQUIRED) return new ProxyError('the proxy refuses the login (407)');
  return new DeniedError(`the proxy refuses to connect to the endpoint (${String(status)})`);
}

/** The replies of RFC 1928, as the library names them. */
const SOCKS_UNREACHABLE = /NetworkUnreachable|HostUnreachable|ConnectionRefused|TTLExpired/;
const SOCKS_DENIED = /NotAllowed|CommandNotSupported|AddressNotSupported|Failure/;

async function socksTunnel(
  socket: Socket,
  { proxy, target, timeoutMs }: TunnelOptions,
): Promise<Socket> {
  const login = proxy.userInfo === undefined ? undefined : loginOf(proxy.userInfo);
  let left = MOST_HEAD_BYTES;
  // The library keeps whatever arrives, without a bound.
  const count = (part: Buffer) => {
    left -= part.length;
    if (left < 0) socket.destroy(new ProxyError(TOO_MUCH));
  };
  socket.on('data', count);
  try {
    const made = await SocksClient.createConnection({
      command: 'connect',
      destination: target,
      existing_socket: socket,
      timeout: timeoutMs,
      proxy: {
        host: proxy.hostname,
        port: proxy.port,
        type: 5 as const,
        ...defined({
          userId: login ? login.user : undefined,
          password: login ? login.password : undefined,
        }),
      },
    });
    return opened(made.socket);
  } catch (error) {
    socket.destroy();
    throw left < 0 ? new ProxyError(TOO_MUCH) : socksErrorOf(error);
  } finally {
    socket.off('data', count);
  }
}

function socksErrorOf(error: unknown): Error {
  const message = error instanceof Error ? error.message : '';
  const unreachable = SOCKS_UNREACHABLE.exec(message);
  if (unreachable) return new UnreachableError(unreachable[0]);
  const denied = SOCKS_DENIED.exec(message);
  if (denied) return new DeniedError(`the proxy refuses to connect to the endpoint (${denied[0]})`);
  if (/authentication/i.test(message)) return new ProxyError('the proxy refuses the login');
  return new ProxyError('the proxy closed the connection');
}

function opened(socket: Socket): Socket {
  socket.emit('tunnel');
  // Until its next owner listens, an error must not end the process.
  socket.on('error', () => undefined);
  return socket;
}
