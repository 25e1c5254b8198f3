import { Client } from 'undici';
import { type Connect, type Waiting } from './guarded-connector';

/**
 * The connections to one origin: a Client of undici each, taken by one request at a time and given back with its answer.
 * (A Pool of them looks through all for one that is free, and takes another than the one that has just answered: it held
 * twice as many sockets as there were requests. docs/design/decisions/0010-client-per-connection.md)
 */

export interface Connection {
  readonly client: Client;
  /** the request that it serves at present */
  waiting: Waiting | undefined;
  /** ms, by the caller's clock */
  idleSince: number;
}

/**
 * One for all: Node asks for the stack of each error that a socket is destroyed with, and making one, with source maps, was
 * a fifth of what a timeout costs.
 */
const DROPPED = new Error('the connection is no longer of use');

export class ConnectionPool {
  /** the one used last is at the end, and is taken first */
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

  /** Its request was answered in full: it may serve another. */
  giveBack(connection: Connection, now: number): void {
    connection.waiting = undefined;
    connection.idleSince = now;
    this.#free.push(connection);
  }

  /** Its request broke off: nobody knows what would still come over it. */
  drop(connection: Connection): void {
    connection.waiting = undefined;
    this.#all.delete(connection);
    void connection.client.destroy(DROPPED);
  }

  /** Drops those that have not been used since. */
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
