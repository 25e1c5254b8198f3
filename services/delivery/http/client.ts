import { Chain } from '../../../shared/service/chain';
import { sleep } from '../../../shared/service/async';
import { Connections } from './connections';
import { Exchange, type ExchangeClock, type ExchangeOwner, type SendRequest, type SendResult } from './exchange';
import { createConnector, type AddressGuard } from './guarded-connector';
import { type NameResolver } from './resolver';

/**
 * Sends one POST with undici: without redirects, and with the complete response within the deadline or none. A fault of
 * the endpoint is returned, never thrown.
 *
 * One sweep over the requests in flight enforces the deadline, since undici's own timeouts are per phase and coarse,
 * and a timer per request costs as much as the request. Time in which this process stalled does not count. Lanes alone
 * bound the number of requests.
 */

const SWEEP_MS = 100;

export interface SenderOptions {
  timeoutMs: number;
  guard: AddressGuard;
  names: NameResolver;
  /** stopped by the caller, after `close` */
  clock: ExchangeClock;
  /** number of connections, in use and idle, beyond which idle ones are closed */
  mostConnections: number;
  /** receives each TLS handshake: `resumed` if it continued an earlier session */
  onHandshake?: (resumed: boolean) => void;
}

export class Sender {
  readonly connections: Connections;
  /** in order of deadline, since all have the same timeout */
  readonly #inFlight = new Chain<Exchange>();
  readonly #sweep: NodeJS.Timeout;
  readonly #owner: ExchangeOwner = {
    take: (exchange) => this.connections.take(exchange.request.origin, exchange),
    resend: (exchange) => this.#resend(exchange),
    ended: (exchange, result, complete) => this.#ended(exchange, result, complete),
  };

  constructor(private readonly options: SenderOptions) {
    this.connections = new Connections(createConnector(options), options.mostConnections);
    // Let the event loop read first: after a busy moment a response may have arrived unread.
    const sweep = () => setImmediate(() => this.#sweepOnce());
    this.#sweep = setInterval(sweep, Math.min(SWEEP_MS, Math.ceil(options.timeoutMs / 10)));
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls `done` once, never before it returns, and at the latest one sweep after the deadline. */
  send(request: SendRequest, done: (result: SendResult) => void): void {
    const exchange = new Exchange(request, this.#owner, this.options.clock, done);
    this.#inFlight.push(exchange);
    this.#dispatch(exchange);
    exchange.isSent = true;
  }

  /** Waits for the requests in flight, at most until their deadline, and closes. */
  async close(): Promise<void> {
    const until = performance.now() + this.options.timeoutMs + SWEEP_MS;
    while (this.#inFlight.size > 0 && performance.now() < until) await sleep(20);
    clearInterval(this.#sweep);
    await this.connections.destroy();
  }

  #dispatch(exchange: Exchange): void {
    const { path, headers, body } = exchange.request;
    try {
      exchange.connection.client.dispatch(
        { method: 'POST', path, headers, body, headersTimeout: 0, bodyTimeout: 0 },
        exchange,
      );
    } catch (error) {
      queueMicrotask(() => exchange.fail(error));
    }
  }

  #resend(exchange: Exchange): void {
    this.connections.drop(exchange.connection);
    exchange.connection = this.connections.open(exchange.request.origin, exchange);
    this.#dispatch(exchange);
  }

  #ended(exchange: Exchange, result: SendResult, complete: boolean): void {
    this.#inFlight.delete(exchange);
    if (complete) this.connections.giveBack(exchange.connection);
    else this.connections.drop(exchange.connection);
    // A forbidden literal address is refused during the dispatch.
    if (exchange.isSent) exchange.done(result);
    else queueMicrotask(() => exchange.done(result));
  }

  #sweepOnce(): void {
    const oldest = this.options.clock.deadlineNow() - this.options.timeoutMs;
    let next = this.#inFlight.first;
    while (next && next.begunAt <= oldest) {
      next.expire(this.options.timeoutMs);
      next = this.#inFlight.first;
    }
  }
}
