import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, type Socket } from 'node:net';
import { type TlsOptions } from 'node:tls';
import { sleep } from '../../shared/runtime/async';
import { type Certificate, makeCertificate } from '../../test/support/certificate';
import { type Answer, respond } from './respond';

/**
 * A receiver of webhooks that behaves as a test requires, well or badly, on real sockets. It
 * records every request when its head has arrived, and its body when that has arrived.
 */

/**
 * One for all requests; several for the first, the second, … with the last repeating; or computed
 * from the request.
 */
export type Behaviour =
  Answer | Answer[] | ((request: ReceivedRequest, nth: number) => Answer | Promise<Answer>);

export interface ReceivedRequest {
  method: string;
  /** path and query */
  path: string;
  /** lower-case names */
  headers: Record<string, string | undefined>;
  /** name, value, name, value, … as received */
  rawHeaders: string[];
  /** the exact bytes */
  body: Buffer;
  /** when its head arrived, ms since 1970 */
  at: number;
  remotePort: number;
  /** when the whole body had arrived; undefined until then, and permanently if it was not read */
  completeAt?: number;
}

export interface SinkOptions {
  /**
   * a certificate, with the demand for one of the client, if any; or `true` to create a self-signed
   * one
   */
  tls?: boolean | (Certificate & Pick<TlsOptions, 'ca' | 'requestCert' | 'rejectUnauthorized'>);
  host?: string;
  /** default 0: any free one */
  port?: number;
}

const MAX_HEADER_BYTES = 128 * 1024;

/** Starts a receiver. By default it responds with 200 on every path. */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const certificate = options.tls === true ? makeCertificate() : options.tls || undefined;
  // A test that keeps a request open for minutes does so on purpose; header limits concern the
  // sender.
  const limits = {
    requestTimeout: 0,
    headersTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: 60_000,
  };
  const server = certificate
    ? createHttpsServer({ ...limits, ...certificate })
    : createHttpServer(limits);
  const sink = new Sink(server, certificate, options.host ?? '127.0.0.1');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, sink.host, resolve);
  });
  return sink;
}

export class Sink {
  /** all requests, in order of arrival */
  readonly requests: ReceivedRequest[] = [];
  /** the largest number of open connections */
  maxConnections = 0;
  /** all connections ever, including those without a request */
  totalConnections = 0;
  readonly #sockets = new Set<Socket>();
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #countByPath = new Map<string, number>();
  readonly #waiters = new Set<() => void>();

  constructor(
    private readonly server: Server,
    readonly certificate: Certificate | undefined,
    readonly host: string,
  ) {
    server.on('connection', (socket: Socket) => {
      this.totalConnections++;
      this.#sockets.add(socket);
      this.maxConnections = Math.max(this.maxConnections, this.#sockets.size);
      socket.once('close', () => this.#sockets.delete(socket));
      // Errors of the other side do not matter here.
      socket.on('error', () => undefined);
    });
    server.on('request', (req, res) => {
      this.#handle(req, res).catch((error: unknown) => res.destroy(error as Error));
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** open connections now */
  get connections(): number {
    return this.#sockets.size;
  }

  /** @param path begins with a slash; may have a query */
  url(path = '/'): string {
    const host = this.host.includes(':') ? `[${this.host}]` : this.host;
    return `${this.certificate ? 'https' : 'http'}://${host}:${String(this.port)}${path}`;
  }

  /**
   * Sets the behaviour of a path from now on (query ignored); `*` covers all paths without a
   * behaviour.
   */
  on(path: string, behaviour: Behaviour): this {
    this.#behaviours.set(path, behaviour);
    this.#countByPath.delete(path);
    return this;
  }

  /** Returns the requests to a path (query ignored), or all. */
  received(path?: string): ReceivedRequest[] {
    return path === undefined
      ? [...this.requests]
      : this.requests.filter((r) => bare(r.path) === path);
  }

  /** Counts different deliveries, and requests beyond the first of each. */
  deliveries(path?: string): { distinct: number; repeats: number; ids: Set<string> } {
    const received = this.received(path);
    const ids = new Set(received.map((r) => r.headers['webhook-id'] ?? ''));
    return { distinct: ids.size, repeats: received.length - ids.size, ids };
  }

  /**
   * Waits until this many whole requests have arrived.
   * @throws Error after `timeoutMs` (default 60 s: CI machines are slow), with their number
   */
  async waitFor(
    n: number,
    options: { path?: string; timeoutMs?: number } = {},
  ): Promise<ReceivedRequest[]> {
    const complete = () => this.received(options.path).filter((r) => r.completeAt !== undefined);
    if (complete().length >= n) return complete();
    const timeoutMs = options.timeoutMs ?? 60_000;
    await new Promise<void>((resolve, reject) => {
      const check = () => {
        if (complete().length < n) return;
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(check);
        const where = options.path === undefined ? '' : ` on ${options.path}`;
        reject(
          new Error(`${complete().length} of ${n} requests arrived${where} within ${timeoutMs} ms`),
        );
      }, timeoutMs);
      this.#waiters.add(check);
    });
    return complete();
  }

  /** Discards received requests; behaviours stay, and restart their sequences. */
  clear(): void {
    this.requests.length = 0;
    this.#countByPath.clear();
    this.maxConnections = this.#sockets.size;
  }

  /** Resets every open connection. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Stops listening and ends every connection. A second call does nothing. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url ?? '/';
    const request: ReceivedRequest = {
      method: req.method ?? '',
      path,
      headers: req.headers as Record<string, string | undefined>,
      rawHeaders: req.rawHeaders,
      body: Buffer.alloc(0),
      at: Date.now(),
      remotePort: req.socket.remotePort ?? 0,
    };
    this.requests.push(request);
    const { behaviour, nth } = this.#behaviourOf(bare(path));
    // Known before the body, unless it depends on the body.
    const early = typeof behaviour === 'function' ? undefined : pick(behaviour, nth);
    if (early?.misbehave === 'never_read') return void req.pause();
    try {
      request.body = await readAll(req);
    } catch {
      // The sender disconnected while it sent: recorded as incomplete, without a response.
      return;
    }
    request.completeAt = Date.now();
    for (const check of [...this.#waiters]) check();
    const answer =
      typeof behaviour === 'function' ? await behaviour(request, nth) : pick(behaviour, nth);
    if (answer.delayMs) await sleep(answer.delayMs, { ref: false });
    if (!res.destroyed) respond(res, answer, () => this.#reset(request.remotePort));
  }

  /** Resets the connection below TLS, if any: TLS itself has no reset. */
  #reset(remotePort: number): void {
    for (const socket of this.#sockets) {
      if (socket.remotePort === remotePort) socket.resetAndDestroy();
    }
  }

  #behaviourOf(path: string): { behaviour: Behaviour; nth: number } {
    const name = this.#behaviours.has(path) ? path : '*';
    const nth = this.#countByPath.get(name) ?? 0;
    this.#countByPath.set(name, nth + 1);
    return { behaviour: this.#behaviours.get(name) ?? {}, nth };
  }
}

async function readAll(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function pick(behaviour: Answer | Answer[], nth: number): Answer {
  return Array.isArray(behaviour)
    ? (behaviour[Math.min(nth, behaviour.length - 1)] ?? {})
    : behaviour;
}

function bare(path: string): string {
  return path.split('?', 1)[0] ?? path;
}
