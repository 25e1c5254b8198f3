import { type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { addressKey } from './client-address';
import { FairShares } from '../collections/fair-shares';

/** Time limits of a connection, ms, by the names of Node's options. */
export interface Timeouts {
  /** from the start of the connection, or of its next request, to the end of the headers */
  headersTimeout: number;
  /** to the end of the body */
  requestTimeout: number;
  /**
   * without a byte in either direction while a response is owed, as when its client does not read
   */
  timeout: number;
  /** interval in which Node checks connections against the first two */
  connectionsCheckingInterval: number;
}

/**
 * Requests of one connection that may wait for their responses. Browsers and load balancers send
 * one at a time.
 */
const MAX_UNANSWERED = 16;

/**
 * Limits the connections of a server, so that strangers cannot take the descriptors of its process.
 * One address must not take all of them; two thirds are enough for a load balancer. A connection
 * beyond that is closed at once, and one whose client no longer reads is closed in time.
 */
export function limitConnections(
  server: Server,
  { maxConnections, timeouts }: { maxConnections: number; timeouts: Timeouts },
): void {
  server.timeout = timeouts.timeout;
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

/**
 * Limits the requests that one connection sends before it reads the responses: each holds memory,
 * and may hold a file. Node handles all requests of a packet at once. A connection with more is
 * closed.
 */
export function limitUnanswered<Request extends IncomingMessage, Response extends ServerResponse>(
  listener: (req: Request, res: Response) => void,
): (req: Request, res: Response) => void {
  const unanswered = new WeakMap<Socket, number>();
  return (req, res) => {
    const { socket } = req;
    // Node continues with the rest of a packet, although the connection is closed.
    if (socket.destroyed) return;
    const count = unanswered.get(socket) ?? 0;
    if (count >= MAX_UNANSWERED) {
      socket.destroy();
      return;
    }
    unanswered.set(socket, count + 1);
    res.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    listener(req, res);
  };
}
