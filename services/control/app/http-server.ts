import { createServer, type RequestListener, type Server } from 'node:http';
import {
  limitConnections,
  limitUnanswered,
  type Timeouts,
} from '../../../shared/runtime/connections';

/**
 * Bodies have up to 1 MB, which takes a slow line less than a minute. A stream of events sends
 * something every 15 s.
 */
const TIMEOUTS: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  timeout: 60_000,
  connectionsCheckingInterval: 5_000,
};

/**
 * Creates the server of the API and the console, which does not listen yet. A stranger who reaches
 * it holds neither all of its connections nor one without end.
 */
export function createControlServer(
  app: RequestListener,
  { maxConnections, timeouts = TIMEOUTS }: { maxConnections: number; timeouts?: Timeouts },
): Server {
  const server = createServer(timeouts, limitUnanswered(app));
  limitConnections(server, { maxConnections, timeouts });
  return server;
}
