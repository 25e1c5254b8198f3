import { type Socket } from 'node:net';

/**
 * Corrects a broker whose connection opens but whose first answer does not come in time, as from an overloaded broker
 * (kafkajs 2.2.4). kafkajs takes the open connection for a usable broker. It never asks again which requests the broker
 * knows, and all requests fail with "Broker not connected" until the broker closes the idle connection after ten
 * minutes.
 */

interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  isConnected(): boolean;
  connectionPool: { pool: readonly { socket?: Socket | null }[] };
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name
const brokers = require('kafkajs/src/broker') as { prototype: Broker };

/** Counts a broker as connected only once it has answered, and closes a connection without an answer. Call it once. */
export function patchHalfConnections({ prototype } = brokers): void {
  const answered = new WeakSet<Broker>();
  // eslint-disable-next-line @typescript-eslint/unbound-method -- both are called with their own `this` below
  const { connect, isConnected } = prototype;
  prototype.isConnected = function () {
    return answered.has(this) && isConnected.call(this);
  };
  prototype.connect = async function () {
    try {
      await connect.call(this);
      answered.add(this);
    } catch (error) {
      await this.disconnect();
      // The late end of this socket would otherwise end the next connection, too.
      for (const { socket } of this.connectionPool.pool) socket?.destroy();
      throw error;
    }
  };
}
