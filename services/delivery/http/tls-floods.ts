import { type Socket } from 'node:net';
import { RecentMap } from '../../../shared/collections/recent-map';
import { EndpointFault } from './endpoint-fault';

/**
 * Bounds what a server may send below HTTP, in TLS, at any time, also on an idle connection.
 *
 * Node reads up to 64 KB at once and hands all of it to OpenSSL: 250 session tickets, or 2,400
 * updates of the key, before this process can end the connection. That takes as long as a hundred
 * requests. So a server that sends too much loses all of its connections, and is left alone for a
 * time.
 */

/** OpenSSL sends two on each connection, other servers up to four. */
const MOST_TICKETS = 8;
/**
 * Lines of the key log for one handshake: one with TLS 1.2, five with TLS 1.3. Servers update their
 * keys after gigabytes, if at all. A server of TLS 1.2 may start another handshake at any time, for
 * example to ask for a client certificate. Node reports both by the keys alone.
 */
const MOST_KEY_LINES = 8;
/** As long as the longest pause between two probes of an endpoint that is away. */
const PAUSE_MS = 10_000;

interface Flood {
  /** fails the request on whose connection it came */
  fault: EndpointFault;
  /** fails the requests that are not sent because of it */
  refusal: EndpointFault;
}

/** Shared by all servers: the stacks of these errors are never read. */
const TICKETS = flood(`the endpoint sent more than ${String(MOST_TICKETS)} TLS session tickets`);
const HANDSHAKES = flood(
  'the endpoint started the TLS handshake or renewed its keys again and again',
);

function flood(what: string): Flood {
  return {
    fault: new EndpointFault(what),
    refusal: new EndpointFault(
      `${what}, and is not connected to for ${String(PAUSE_MS / 1_000)} s after that`,
    ),
  };
}

export class TlsFloods {
  /** open ones, by the key of their server */
  readonly #sockets = new Map<string, Set<Socket>>();
  /** the last flood of each server */
  readonly #last = new RecentMap<string, { refusal: EndpointFault; until: number }>(PAUSE_MS);

  /** @param now ms, by a clock that never jumps */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Returns why no connection to the server may be opened now. */
  refusal(server: string): EndpointFault | undefined {
    const last = this.#last.get(server);
    return last && this.now() < last.until ? last.refusal : undefined;
  }

  /** Ends the connections to the server once it sends too much on this one. */
  watch(socket: Socket, server: string): void {
    const sockets = this.#sockets.get(server) ?? new Set<Socket>();
    this.#sockets.set(server, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) this.#sockets.delete(server);
    });
    const flooded = ({ fault, refusal }: Flood) => {
      const now = this.now();
      this.#last.set(server, { refusal, until: now + PAUSE_MS }, now);
      for (const each of sockets) each.destroy(each === socket ? fault : refusal);
    };
    bound(socket, 'session', MOST_TICKETS, () => flooded(TICKETS));
    bound(socket, 'keylog', MOST_KEY_LINES, () => flooded(HANDSHAKES));
  }
}

function bound(
  socket: Socket,
  event: 'session' | 'keylog',
  most: number,
  onMore: () => void,
): void {
  let count = 0;
  socket.on(event, () => {
    // More follow, in what Node has read already.
    if (++count === most + 1) onMore();
  });
}
