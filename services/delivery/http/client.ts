import { LinkedList } from '../../../shared/collections/linked-list';
import { MOST_TIMEOUT_MS } from '../../../shared/model/retry-plan';
import { sleep } from '../../../shared/runtime/async';
import { type RequestClock } from '../clock/stall-clock';
import { Connections } from './connections';
import { Exchange, type SendRequest, type SendResult, type SharedByExchanges } from './exchange';
import { type ConnectorOptions, createConnector } from './guarded-connector';
import { createPeerCheck } from './peers';

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
  readonly #shared: SharedByExchanges;
  readonly #sweepMs: number;
  /** while requests are in flight */
  #sweep: NodeJS.Timeout | undefined;
  #stopsClock: () => void = () => undefined;

  constructor(private readonly options: SenderOptions) {
    // The sweep keeps the deadline. undici's own timeout must not come before it.
    const timeoutMs = Math.max(options.timeoutMs, MOST_TIMEOUT_MS);
    const connect = createConnector({ ...options, timeoutMs });
    this.connections = new Connections(connect, options.mostConnections, options.onUnasked);
    this.#shared = {
      connections: this.connections,
      stillHolds: createPeerCheck(options.names, options.guard),
      clock: options.clock,
    };
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
    const list = this.#listOf(request);
    const exchange = new Exchange(request, this.#shared, list, done);
    list.push(exchange);
    exchange.begin();
  }

  /** Waits for the requests in flight, at most until their deadline, and closes. */
  async close(): Promise<void> {
    const until = performance.now() + this.longestTimeoutMs + SWEEP_MS;
    while (this.inFlight > 0 && performance.now() < until) await sleep(20);
    if (this.#sweep !== undefined) this.#stopSweeping();
    await this.connections.destroy();
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
