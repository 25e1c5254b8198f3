import { type Server } from 'node:net';
import { addressKey } from './client-address';
import { FairShares } from './fair-shares';

/** Time limits of a connection, ms, by the names of Node's options. */
export interface Timeouts {
  /** from the start of the connection, or of its next request, to the end of the headers */
  headersTimeout: number;
  /** to the end of the body */
  requestTimeout: number;
  /** interval in which Node checks connections against the first two */
  connectionsCheckingInterval: number;
}

/**
 * Limits the connections of a server, so that strangers cannot take the descriptors of its process.
 * One address must not take all of them; two thirds are enough for a load balancer. A connection
 * beyond that is closed at once.
 */
export function shareConnections(server: Server, maxConnections: number): void {
  const connections = new FairShares(maxConnections);
  server.on('connection', (socket) => {
    const share = connections.of(addressKey(socket.remoteAddress ?? ''));
    if (!connections.take(share, 1)) {
      socket.destroy();
      return;
    }
    socket.once('close', () => connections.give(share, 1));
  });
}
