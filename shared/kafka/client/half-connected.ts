import { type Socket } from 'node:net';

/**
 * Corrects a broker whose connection opens but whose first answer does not come in time, as from an
 * overloaded broker (kafkajs 2.2.4). kafkajs takes the open connection for a usable broker. It
 * never asks again which requests the broker knows, and all requests fail with "Broker not
 * connected" until the broker closes the idle connection after ten minutes.
 */

interface Connection {
  socket?: Socket | null;
  rejectRequests(error: unknown): void;
  disconnect(): Promise<unknown>;
}
interface Broker {
  connect(): Promise<void>;
  isConnected(): boolean;
  /** the second connection is for fetches, and opens with the first of them */
  connectionPool: { pool: readonly [Connection, Connection] };
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- kafkajs does not export it
const brokers = require('kafkajs/src/broker') as { prototype: Broker };

/**
 * Counts a broker as connected only once kafkajs knows its requests, and closes a connection that
 * could not be used. The first broker of a client must answer for that. kafkajs takes the same
 * requests for the others, so that they count once their connection is open and, with SASL,
 * authenticated. Call it once.
 */
export function patchHalfConnections(): void {
  const { prototype } = brokers;
  const usable = new WeakSet<Broker>();
  const attempts = new WeakMap<Broker, Promise<void>>();
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with their `this` below
  const { connect, isConnected } = prototype;
  prototype.isConnected = function () {
    return usable.has(this) && isConnected.call(this);
  };
  // Callers at the same time share an attempt: kafkajs lets the next begin before a failed one has
  // cleaned up.
  prototype.connect = function () {
    const running = attempts.get(this);
    if (running) return running;
    const attempt = attemptOf(this).finally(() => attempts.delete(this));
    attempts.set(this, attempt);
    return attempt;
  };

  async function attemptOf(broker: Broker): Promise<void> {
    try {
      await connect.call(broker);
      usable.add(broker);
    } catch (error) {
      await close(broker.connectionPool.pool[0], error);
      throw error;
    }
  }
}

/** Closes a connection and ends its requests. kafkajs alone would wait for them without a limit. */
async function close(connection: Connection, error: unknown): Promise<void> {
  const { socket } = connection;
  connection.rejectRequests(error);
  await connection.disconnect();
  // The late end of this socket would otherwise end the next connection, too.
  socket?.destroy();
}
