import { type Socket } from 'node:net';
import { type IncomingHttpHeaders } from 'node:http';
import { type Dispatcher } from 'undici';
import { type Phase, type Phases, type UrlError } from '../../../shared/model/attempt-events';
import { sleep } from '../../../shared/service/async';
import { CompactingMap } from '../../../shared/service/compacting-map';
import { type StallClock } from '../stall-clock';
import {
  createConnector,
  ForbiddenAddressError,
  type AddressGuard,
  type Connect,
  type Waiting,
} from './guarded-connector';
import { type Connection, ConnectionPool } from './connection-pool';
import { DnsError, type NameResolver } from './resolver';
import { PhaseTimer } from './phase-timer';

/**
 * Sends one POST with undici: without redirects, and with the complete response within the deadline or none. A fault of
 * the endpoint is returned, never thrown.
 *
 * One sweep over the requests in flight enforces the deadline, since undici's own timeouts are per phase and coarse,
 * and a timer per request costs as much as the request. Time in which this process stalled does not count. The number
 * of connections is not limited here: lanes alone bound it.
 */

const SWEEP_MS = 100;
const KEEP_BODY_BYTES = 16 * 1024;
/** undici closes an idle socket after 4 s; the client that remains is dropped after this time. */
const IDLE_MS = 60_000;
const IDLE_SWEEP_MS = 5_000;

export interface SendRequest {
  origin: string;
  /** including the query */
  path: string;
  /** alternating names and values */
  headers: string[];
  body: Buffer;
}

export interface EndpointResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** at most 16 KiB */
  body: Buffer;
  /** there was more, or the response broke off after the status */
  truncated: boolean;
}

export type SendResult = (
  | { ok: true; answer: EndpointResponse }
  /**
   * `stoodStill`: this process stalled during the request or just before, so the result says nothing about the endpoint
   */
  | { ok: false; error: UrlError; stoodStill?: boolean }
) & { durationMs: number; phases?: Phases };

export interface SenderOptions {
  timeoutMs: number;
  guard: AddressGuard;
  names: NameResolver;
  /** stopped by the caller, after `close` */
  clock: Pick<StallClock, 'deadlineNow' | 'stoodStillSince'>;
}

export class Sender {
  readonly #origins = new Map<string, ConnectionPool>();
  /** in order of deadline, since all have the same timeout */
  readonly #inFlight = new CompactingMap<Exchange, true>();
  readonly #connect: Connect;
  readonly #sweep: NodeJS.Timeout;
  #idleSweepAt = 0;

  constructor(private readonly options: SenderOptions) {
    this.#connect = createConnector(options);
    // Let the event loop read first: after a busy moment a response may have arrived unread.
    const sweep = () => setImmediate(() => this.#sweepOnce());
    this.#sweep = setInterval(sweep, Math.min(SWEEP_MS, Math.ceil(options.timeoutMs / 10)));
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls `done` once, never before it returns, and at the latest one sweep after the deadline. */
  send(request: SendRequest, done: (result: SendResult) => void): void {
    const origin = this.#origin(request.origin);
    let returned = false;
    const exchange: Exchange = new Exchange(this.options.clock, (result, complete) => {
      this.#inFlight.delete(exchange);
      if (complete) origin.giveBack(connection, exchange.startedAt);
      else origin.drop(connection);
      // A forbidden literal address is refused during the dispatch.
      if (returned) done(result);
      else queueMicrotask(() => done(result));
    });
    const connection: Connection = origin.take(exchange);
    this.#inFlight.set(exchange, true);
    try {
      connection.client.dispatch(
        {
          method: 'POST',
          path: request.path,
          headers: request.headers,
          body: request.body,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        exchange,
      );
    } catch (error) {
      queueMicrotask(() => exchange.fail(error));
    } finally {
      returned = true;
    }
  }

  /** Waits for the requests in flight, at most until their deadline, and closes. */
  async close(): Promise<void> {
    const until = Date.now() + this.options.timeoutMs + SWEEP_MS;
    while (this.#inFlight.size > 0 && Date.now() < until) await sleep(20);
    clearInterval(this.#sweep);
    await Promise.all([...this.#origins.values()].map((connections) => connections.destroy()));
  }

  #origin(name: string): ConnectionPool {
    let origin = this.#origins.get(name);
    if (!origin) this.#origins.set(name, (origin = new ConnectionPool(name, this.#connect)));
    return origin;
  }

  #sweepOnce(): void {
    const now = performance.now();
    const oldest = this.options.clock.deadlineNow(now) - this.options.timeoutMs;
    for (const exchange of this.#inFlight.keys()) {
      if (exchange.begunAt > oldest) break;
      exchange.expire(this.options.timeoutMs);
    }
    if (now < this.#idleSweepAt) return;
    this.#idleSweepAt = now + IDLE_SWEEP_MS;
    for (const [name, origin] of this.#origins) {
      origin.dropIdle(now - IDLE_MS);
      if (origin.size === 0) this.#origins.delete(name);
    }
  }
}

// Shared instances: creating a stack trace is expensive (connection-pool.ts), and these are never read.
const TOO_LATE = new Error('the deadline has passed');
const TOO_LONG = new Error('the answer is longer than what is kept');

/** One request and its response. */
class Exchange extends PhaseTimer implements Dispatcher.DispatchHandler, Waiting {
  /** by the stall clock's `deadlineNow` */
  readonly begunAt: number;
  socket: Socket | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;

  /** @param done `complete`: the whole response was received, so the connection can be used again */
  constructor(
    private readonly clock: SenderOptions['clock'],
    private readonly done: (result: SendResult, complete: boolean) => void,
  ) {
    super();
    this.begunAt = clock.deadlineNow(this.startedAt);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The deadline passed while it waited for a connection: nothing may be sent any more.
    if (this.#ended) controller.abort(TOO_LATE);
    this.phase = 'headers';
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    if (status >= 200) this.phase = 'body';
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    const room = KEEP_BODY_BYTES - this.#bytes;
    if (chunk.length <= room) {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      return;
    }
    this.#chunks.push(chunk.subarray(0, room));
    this.#answered(true);
    // The rest of the body is not needed: it is dropped with its connection.
    controller.abort(TOO_LONG);
  }

  onResponseEnd(): void {
    this.#answered(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    this.#failed(describe(error, this.phase));
  }

  expire(timeoutMs: number): void {
    const message = `no complete answer within ${String(timeoutMs)} ms`;
    this.#failed({ code: 'timeout', phase: this.phase, message });
    if (this.#controller) this.#controller.abort(TOO_LATE);
    else this.socket?.destroy(TOO_LATE);
  }

  #answered(truncated: boolean): void {
    const body = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const answer: EndpointResponse = { status: this.#status, headers: this.#headers, body, truncated };
    this.#end({ ok: true, answer, durationMs: this.#elapsed() }, !truncated);
  }

  #failed(error: UrlError): void {
    const stoodStill = this.clock.stoodStillSince(this.begunAt);
    this.#end({ ok: false, error, durationMs: this.#elapsed(), ...(stoodStill ? { stoodStill } : {}) });
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  #end(result: SendResult, complete = false): void {
    if (this.#ended) return;
    this.#ended = true;
    const phases = this.endPhases();
    if (phases) result.phases = phases;
    this.done(result, complete);
  }
}

/** Classifies an error of the connection. Messages name host and cause, never path, query or header. */
function describe(error: unknown, phase: Phase): UrlError {
  if (error instanceof ForbiddenAddressError) return { code: 'forbidden_address', message: error.message };
  // The resolver gives up shortly before the deadline or together with it. Both have the same cause and get the same
  // code.
  if (error instanceof DnsError) {
    return { code: error.code === 'ETIMEOUT' ? 'timeout' : 'dns', phase: 'dns', message: error.message };
  }
  const code = (error as NodeJS.ErrnoException | null)?.code ?? (error instanceof Error ? error.name : 'unknown');
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return { code: 'timeout', phase, message: 'the connection took too long' };
  if (phase === 'tls' || /CERT|TLS|SSL|EPROTO/.test(code)) {
    return { code: 'tls', phase: 'tls', message: `the connection could not be secured (${code})` };
  }
  const when = phase === 'headers' || phase === 'body' ? 'was interrupted' : 'could not be opened';
  return { code: 'connection', phase, message: `the connection ${when} (${code})` };
}
