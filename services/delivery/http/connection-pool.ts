import { Client } from 'undici';
import { type Connect, type Waiting } from './guarded-connector';

/**
 * The connections to one origin: one undici Client each, which serves one request at a time and is returned after its
 * response. (undici's Pool searches all of its clients for a free one, and prefers one that did not just
 * answer: it held twice as many sockets as requests. docs/design/decisions/0010-client-per-connection.md)
 */

export interface Connection {
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

export class ConnectionPool {
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
