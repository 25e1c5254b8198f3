import { Client } from 'undici';
import { LinkedList, type Link } from '../../../shared/collections/linked-list';
import { type ClientTls } from './client-tls';
import { EndpointFault } from './endpoint-fault';
import { type Connect, type Waiting } from './guarded-connector';
import { Incoming, passThrough } from './incoming';
import { NO_PEERS, type Peer } from './peers';
import { MOST_HEAD_BYTES } from './read-response';
import { type Proxy } from './tunnel';

/**
 * The open connections of the process: one undici Client each, which serves one request at a time
 * and is kept after its response. (undici's Pool searches all of its clients for a free one, and
 * takes a client for busy while its last response is handled, when a lane starts its next request.
 * It kept twice as many sockets open as it had requests.)
 *
 * Most endpoints get a webhook now and then. For them, opening a TLS connection costs more than ten
 * times as much as the request, so idle connections are kept as long as endpoints allow.
 */

/**
 * Load balancers commonly close connections after 60 s. An endpoint's `Keep-Alive: timeout`
 * replaces this.
 */
const KEEP_IDLE_MS = 50_000;

/**
 * Shared instance: Node reads the stack of each error that a socket is destroyed with, and creating
 * one, with source maps, was a fifth of the cost of a timeout.
 */
const DROPPED = new Error('the connection is no longer of use');
const SPOKE_FIRST = new EndpointFault('the endpoint sent bytes before it got the request');

export interface Connection extends Link<Connection> {
  readonly client: Client;
  readonly incoming: Incoming;
  readonly origin: Origin;
  /** the addresses that its socket leads to; empty: it has none yet, or they cannot change */
  peers: readonly Peer[];
  /** the request that it serves at present; undefined while it is idle */
  waiting: Waiting | undefined;
}

/**
 * The target of a connection. Two with different client certificates, authorities or proxies share
 * none.
 */
export interface Target {
  readonly origin: string;
  readonly tls?: ClientTls;
  readonly proxy?: Proxy;
}

function keyOf({ origin, tls, proxy }: Target): string {
  if (proxy) return `${origin} ${tls?.id ?? ''} ${proxy.key}`;
  return tls ? `${origin} ${tls.id}` : origin;
}

/** The connections to one target. */
interface Origin {
  readonly key: string;
  /** idle ones; most recently used last, and taken first */
  readonly free: Connection[];
  /** idle or not */
  count: number;
}

export class Connections {
  readonly #origins = new Map<string, Origin>();
  /** of all origins; least recently used first */
  readonly #idle = new LinkedList<Connection>();
  readonly #all = new Set<Connection>();

  /** @param most number of connections, in use and idle, beyond which idle ones are closed */
  constructor(
    private readonly connect: Connect,
    private readonly most: number,
    /** receives each arrival of bytes that nobody had asked for, which ends an idle connection */
    private readonly onUnasked: () => void = () => undefined,
  ) {}

  get idle(): number {
    return this.#idle.size;
  }

  get inUse(): number {
    return this.#all.size - this.#idle.size;
  }

  /** Returns an idle connection to the target, or a new one. */
  take(target: Target, waiting: Waiting): Connection {
    const connection = this.#origins.get(keyOf(target))?.free.pop();
    if (!connection) return this.open(target, waiting);
    this.#idle.delete(connection);
    connection.waiting = waiting;
    return connection;
  }

  /** Returns a new connection, which has no socket yet. */
  open(target: Target, waiting: Waiting): Connection {
    if (this.#all.size >= this.most && this.#idle.first) this.drop(this.#idle.first);
    const origin = this.#origin(keyOf(target));
    const incoming = new Incoming();
    const client = new Client(target.origin, {
      connect: (address, done) => {
        this.connect(
          address,
          (...[error, socket, peers]) => {
            if (error) {
              done(error, null);
              return;
            }
            connection.peers = peers;
            passThrough(socket, incoming, () => this.#unasked(connection));
            done(null, socket);
          },
          connection.waiting,
          target,
        );
      },
      pipelining: 1,
      allowH2: false,
      // `incoming` ends the connection before undici would.
      maxHeaderSize: MOST_HEAD_BYTES,
      keepAliveTimeout: KEEP_IDLE_MS,
    });
    const connection: Connection = { client, incoming, origin, peers: NO_PEERS, waiting };
    // While a request waits for it, undici opens the next socket or fails the request.
    client.on('disconnect', () => {
      if (!connection.waiting) this.drop(connection);
    });
    this.#all.add(connection);
    origin.count++;
    return connection;
  }

  /** Returns a connection after a complete response: it may serve another request. */
  giveBack(connection: Connection): void {
    connection.incoming.responseEnded();
    connection.waiting = undefined;
    connection.origin.free.push(connection);
    this.#idle.push(connection);
  }

  /** Destroys a connection: unread bytes of a request that broke off might still arrive over it. */
  drop(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    connection.waiting = undefined;
    const { origin } = connection;
    if (this.#idle.delete(connection)) origin.free.splice(origin.free.indexOf(connection), 1);
    if (--origin.count === 0) this.#origins.delete(origin.key);
    void connection.client.destroy(DROPPED);
  }

  async destroy(): Promise<void> {
    const all = [...this.#all];
    this.#all.clear();
    await Promise.all(all.map(({ client }) => client.destroy(DROPPED)));
  }

  /**
   * Bytes have arrived that answer no request. A request that waits for a kept connection gets
   * another one. A server that speaks first on a new one would do so again.
   */
  #unasked({ waiting }: Connection): void {
    this.onUnasked();
    if (waiting?.socket) waiting.fail(SPOKE_FIRST);
  }

  #origin(key: string): Origin {
    let origin = this.#origins.get(key);
    if (!origin) this.#origins.set(key, (origin = { key, free: [], count: 0 }));
    return origin;
  }
}
