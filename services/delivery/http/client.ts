import { LinkedList } from '../../../shared/collections/linked-list';
import { MOST_TIMEOUT_MS } from '../../../shared/model/retry-plan';
import { sleep } from '../../../shared/runtime/async';
import { type RequestClock } from '../clock/stall-clock';
import { Connections } from './connections';
import { Exchange, type ExchangeOwner, type SendRequest, type SendResult } from './exchange';
import { type ConnectorOptions, createConnector } from './guarded-connector';
import { createPeerCheck, type PeerCheck } from './peers';

/**
 * Sends one POST with undici: without redirects, and with the complete response within the deadline
 * or none. A fault of the endpoint is returned, never thrown.
 *
 * One sweep over the requests in flight enforces the deadline, since undici's own timeouts are per
 * phase and coarse, and a timer per request costs as much as the request. Time in which this
 * process stood still does not count. Lanes alone bound the number of requests.
 */

const SWEEP_MS = 100;

export interface SenderOptions extends ConnectorOptions {
  /** stopped by the caller, after `close` */
  clock: RequestClock;
  /** number of connections, in use and idle, beyond which idle ones are closed */
  mostConnections: number;
  /** receives each arrival of bytes that nobody had asked for */
  onUnasked?: () => void;
}

export class Sender {
  readonly connections: Connections;
  /** in order of deadline, since all have the same timeout */
  readonly #inFlight = new LinkedList<Exchange>();
  /** the requests with a timeout of their destination, by timeout, each in order of deadline */
  readonly #byTimeout = new Map<number, LinkedList<Exchange>>();
  readonly #stillHolds: PeerCheck;
  readonly #sweepMs: number;
  /** while requests are in flight */
  #sweep: NodeJS.Timeout | undefined;
  #stopsClock: () => void = () => undefined;
  readonly #owner: ExchangeOwner = {
    take: (exchange) => this.connections.take(exchange.request, exchange),
    resend: (exchange) => this.#dispatchAnew(exchange),
    finish: (exchange, result, complete) => this.#finish(exchange, result, complete),
  };

  constructor(private readonly options: SenderOptions) {
    // The sweep keeps the deadline. undici's own timeout must not come before it.
    const timeoutMs = Math.max(options.timeoutMs, MOST_TIMEOUT_MS);
    const connect = createConnector({ ...options, timeoutMs });
    this.#stillHolds = createPeerCheck(options.names, options.guard);
    this.connections = new Connections(connect, options.mostConnections, options.onUnasked);
    this.#sweepMs = Math.min(SWEEP_MS, Math.ceil(options.timeoutMs / 10));
  }

  get inFlight(): number {
    let count = this.#inFlight.size;
    for (const list of this.#byTimeout.values()) count += list.size;
    return count;
  }

  /** The longest timeout of a request that this process has sent, ms. */
  get longestTimeoutMs(): number {
    return Math.max(this.options.timeoutMs, ...this.#byTimeout.keys());
  }

  /** Calls `done` once, never before it returns, and at the latest one sweep after the deadline. */
  send(request: SendRequest, done: (result: SendResult) => void): void {
    if (this.#sweep === undefined) this.#startSweeping();
    const exchange = new Exchange(request, this.#owner, this.options.clock, done);
    this.#listOf(request).push(exchange);
    this.#begin(exchange);
  }

  /** Waits for the requests in flight, at most until their deadline, and closes. */
  async close(): Promise<void> {
    const until = performance.now() + this.longestTimeoutMs + SWEEP_MS;
    while (this.inFlight > 0 && performance.now() < until) await sleep(20);
    if (this.#sweep !== undefined) this.#stopSweeping();
    await this.connections.destroy();
  }

  /** A kept connection is left once the name of its endpoint has another address. */
  #begin(exchange: Exchange): void {
    const holds = this.#stillHolds(exchange.connection.peers);
    if (holds === true) this.#dispatch(exchange);
    else if (holds === false) this.#dispatchAnew(exchange);
    else {
      exchange.phase = 'dns';
      void holds.then(() => {
        if (!exchange.hasEnded) this.#begin(exchange);
      });
    }
  }

  #dispatch(exchange: Exchange): void {
    const { method = 'POST', path, headers, body } = exchange.request;
    try {
      exchange.connection.client.dispatch(
        { method, path, headers, body, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      );
    } catch (error) {
      queueMicrotask(() => exchange.fail(error));
    }
  }

  #dispatchAnew(exchange: Exchange): void {
    this.connections.drop(exchange.connection);
    exchange.connection = this.connections.open(exchange.request, exchange);
    this.#dispatch(exchange);
  }

  #finish(exchange: Exchange, result: SendResult, complete: boolean): void {
    this.#listOf(exchange.request).delete(exchange);
    if (complete) this.connections.giveBack(exchange.connection);
    else this.connections.drop(exchange.connection);
    // An exception of the caller must end the process, and undici would swallow it.
    queueMicrotask(() => exchange.done(result));
  }

  #listOf({ timeoutMs }: SendRequest): LinkedList<Exchange> {
    if (timeoutMs === undefined) return this.#inFlight;
    let list = this.#byTimeout.get(timeoutMs);
    if (!list) this.#byTimeout.set(timeoutMs, (list = new LinkedList()));
    return list;
  }

  #startSweeping(): void {
    this.#stopsClock = this.options.clock.run();
    // Let the event loop read first: after a busy moment a response may have arrived unread.
    this.#sweep = setInterval(() => setImmediate(() => this.#sweepOnce()), this.#sweepMs);
  }

  #stopSweeping(): void {
    clearInterval(this.#sweep);
    this.#sweep = undefined;
    this.#stopsClock();
  }

  #sweepOnce(): void {
    const now = this.options.clock.deadlineNow();
    expire(this.#inFlight, this.options.timeoutMs, now);
    for (const [timeoutMs, list] of this.#byTimeout) expire(list, timeoutMs, now);
    if (this.inFlight === 0 && this.#sweep !== undefined) this.#stopSweeping();
  }
}

function expire(list: LinkedList<Exchange>, timeoutMs: number, now: number): void {
  let next = list.first;
  while (next && next.begunAt <= now - timeoutMs) {
    next.expire(timeoutMs);
    next = list.first;
  }
}
