import { Client } from 'undici';
import { sleep } from '../../../shared/service/async';
import { CompactingMap } from '../../../shared/service/compacting-map';
import { Exchange, type ExchangeClock, type SendRequest, type SendResult } from './exchange';
import { createConnector, type AddressGuard, type Connect, type Waiting } from './guarded-connector';
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

interface Connection {
  readonly client: Client;
  /** the request that it serves at present */
  waiting: Waiting | undefined;
  /** ms, by the caller's clock */
  idleSince: number;
}

/**
 * Shared instance: Node reads the stack of each error that a socket is destroyed with, and creating one, with source
 * maps, was a fifth of the cost of a timeout.
 */
const DROPPED = new Error('the connection is no longer of use');

/**
 * The connections to one origin: one undici Client each, which serves one request at a time and is returned after its
 * response. (undici's Pool searches all of its clients for a free one, and prefers a client other than the last used. It
 * kept twice as many sockets open as it had requests. docs/design/decisions/0010-client-per-connection.md)
 */
class ConnectionPool {
  /** most recently used last, and taken first */
  readonly #free: Connection[] = [];
  readonly #all = new Set<Connection>();

  constructor(
    private readonly origin: string,
    private readonly connect: Connect,
  ) {}

  get size(): number {
    return this.#all.size;
  }

  take(waiting: Waiting): Connection {
    const connection = this.#free.pop() ?? this.#make();
    connection.waiting = waiting;
    return connection;
  }

  /** Returns a connection after a complete response: it may serve another request. */
  giveBack(connection: Connection, now: number): void {
    connection.waiting = undefined;
    connection.idleSince = now;
    this.#free.push(connection);
  }

  /** Destroys a connection whose request broke off: unread bytes might still arrive over it. */
  drop(connection: Connection): void {
    connection.waiting = undefined;
    this.#all.delete(connection);
    void connection.client.destroy(DROPPED);
  }

  /** Drops connections that have not been used since. */
  dropIdle(since: number): void {
    while (this.#free[0] && this.#free[0].idleSince <= since) this.drop(this.#free.shift() as Connection);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map(({ client }) => client.destroy(DROPPED)));
  }

  #make(): Connection {
    const client = new Client(this.origin, {
      connect: (target, done) => this.connect(target, done, connection.waiting),
      pipelining: 1,
      allowH2: false,
    });
    const connection: Connection = { client, waiting: undefined, idleSince: 0 };
    this.#all.add(connection);
    return connection;
  }
}
