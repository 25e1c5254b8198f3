import { type Express } from 'express';
import { createServer, type Server, IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { type Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { withTimeout } from '../../shared/runtime/async';
import { limitConnections, limitUnanswered, type Timeouts } from '../../shared/runtime/connections';
import { listen } from '../../shared/runtime/health';
import { watchRequest } from '../../shared/telemetry/http-server';
import { type HttpResponse, corsHeaders, refusal, type RefusalCode } from './responses';
import { routeOf } from './routes';

/**
 * The HTTP server around the app: timeouts, responses to requests that are not valid HTTP, and a
 * graceful stop that answers every request.
 */

const TIMEOUTS: Timeouts = {
  headersTimeout: 10_000,
  /** Enough for 500 KB over a slow mobile network. */
  requestTimeout: 60_000,
  timeout: 60_000,
  connectionsCheckingInterval: 5_000,
};
/**
 * A browser sends all cookies of the site's domain to an ingest below it, and proxies add headers
 * of their own. Node's default is 16 KB.
 */
const MAX_HEADER_BYTES = 64 * 1024;
/** Time for a client to read the response before its connection is closed. */
const LINGER_MS = 500;
const POLL_MS = 20;
/**
 * Closing a kept-alive connection while its client writes loses a request. So each connection ends
 * with a response that says `connection: close`; only connections without a request for this time
 * are closed without one.
 */
const LAST_REQUEST_MS = 1_000;

export interface IngestServer {
  port: number;
  /**
   * Accepts no new connections, answers the requests in progress, and closes; after `deadlineMs` by
   * force.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** @throws AppError `cannot_start` if the port is not available */
export async function startServer(
  app: Express,
  options: {
    host: string;
    port: number;
    maxConnections: number;
    /**
     * Time for which a connection without a request stays open, ms. A request is lost if this side
     * closes while a load balancer sends, so it must be longer than the balancer's. The timeout of
     * the headers begins with a request.
     */
    keepAliveMs: number;
    timeouts?: Timeouts;
  },
): Promise<IngestServer> {
  const { host, port, maxConnections, keepAliveMs, timeouts = TIMEOUTS } = options;
  const latest = new Map<Duplex, { req: IncomingMessage; res: ServerResponse }>();
  let stopping = false;

  const serverOptions = {
    ...timeouts,
    ...nativePrototypes(app),
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false,
  };
  const handle = (req: IncomingMessage, res: ServerResponse) => {
    latest.set(req.socket, { req, res });
    if (stopping) res.shouldKeepAlive = false;
    watchRequest(req, res, routeOf(req.url ?? ''));
    app(req, res);
  };
  const server = createServer(serverOptions, limitUnanswered(handle));
  limitConnections(server, { maxConnections, timeouts });
  server.on('connection', (socket) => socket.once('close', () => latest.delete(socket)));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const last = latest.get(socket);
    // A complete request still waits for its response: the client would take this one for it.
    const owed = last !== undefined && last.req.complete && !last.res.writableEnded;
    if (error.code === 'ECONNRESET' || !socket.writable || owed) socket.destroy();
    else refuseRaw(socket, clientErrorCode(error.code));
  });
  const bound = await listen(server, port, host);
  return {
    port: bound,
    stop: (deadlineMs) => {
      stopping = true;
      for (const { res } of latest.values()) if (!res.headersSent) res.shouldKeepAlive = false;
      return close(server, deadlineMs);
    },
  };
}

function clientErrorCode(code: string | undefined): RefusalCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'invalid_request';
}

function refuseRaw(socket: Duplex, code: RefusalCode): void {
  socket.end(rawResponse(refusal(code)));
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

function rawResponse({ status, body, headers }: HttpResponse): string {
  const all = {
    ...headers,
    ...corsHeaders(undefined),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return (
    `HTTP/1.1 ${status} ` +
    `${REASONS[status] ?? 'Error'}\r\n${lines.join('')}\r\n${body.toString()}`
  );
}

async function close(server: Server, deadlineMs: number): Promise<void> {
  // Accepts the waiting connections first: closing resets the connections in the queue.
  await setImmediate();
  // Not `close` of node:http, which ends idle connections at once.
  const closed = new Promise<void>((resolve) =>
    NetServer.prototype.close.call(server, () => resolve()),
  );
  const until = performance.now() + Math.min(LAST_REQUEST_MS, deadlineMs / 2);
  const sweep = setInterval(() => {
    if (performance.now() >= until) server.closeIdleConnections();
  }, POLL_MS);
  await withTimeout(deadlineMs, closed);
  clearInterval(sweep);
  server.closeAllConnections();
}

/**
 * The prototypes that an Express application sets on requests and responses (missing in its types).
 */
interface Prototypes {
  request: object;
  response: object;
}

/**
 * Returns classes for `createServer` whose instances already have the app's prototypes. Call it
 * once, before the app serves. Express changes the prototype of each request and response by
 * `Object.setPrototypeOf`, unless it has Express's already. V8 then discards its optimizations for
 * them, and everything that Node does with them afterwards is slow. Measured for a call of 1 KB: 85
 * µs of CPU a request, 55 µs of it for this. If Express changes its method one day, everything
 * still works at the old speed.
 */
function nativePrototypes(app: Express) {
  class Request extends IncomingMessage {}
  class Response extends ServerResponse {}
  const prototypes = app as unknown as Prototypes;
  Object.setPrototypeOf(Request.prototype, prototypes.request);
  Object.setPrototypeOf(Response.prototype, prototypes.response);
  prototypes.request = Request.prototype;
  prototypes.response = Response.prototype;
  return { IncomingMessage: Request, ServerResponse: Response };
}
