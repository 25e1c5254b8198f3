import { sleep } from '../../../shared/service/async';
import { CompactingMap } from '../../../shared/service/compacting-map';
import { type Connection, ConnectionPool } from './connection-pool';
import { Exchange, type ExchangeClock, type SendRequest, type SendResult } from './exchange';
import { createConnector, type AddressGuard, type Connect } from './guarded-connector';
import { type NameResolver } from './resolver';

/**
 * Sends one POST with undici: without redirects, and with the complete response within the deadline or none. A fault of
 * the endpoint is returned, never thrown.
 *
 * One sweep over the requests in flight enforces the deadline, since undici's own timeouts are per phase and coarse,
 * and a timer per request costs as much as the request. Time in which this process stalled does not count. The number
 * of connections is not limited here: lanes alone bound it.
 */

const SWEEP_MS = 100;
/** undici closes an idle socket after 4 s; the client that remains is dropped after this time. */
const IDLE_MS = 60_000;
const IDLE_SWEEP_MS = 5_000;

export interface SenderOptions {
  timeoutMs: number;
  guard: AddressGuard;
  names: NameResolver;
  /** stopped by the caller, after `close` */
  clock: ExchangeClock;
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
    const until = performance.now() + this.options.timeoutMs + SWEEP_MS;
    while (this.#inFlight.size > 0 && performance.now() < until) await sleep(20);
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
