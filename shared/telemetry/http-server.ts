import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Distribution, LATENCY_BOUNDS, metrics, only } from './metrics';

/**
 * Metrics of HTTP requests that a service answers, with the names of OpenTelemetry's conventions.
 */

const durations = metrics.histogram(
  {
    name: 'http.server.request.duration',
    help:
      'Time from the head of a request to the last byte of its response, at ingest and at ' +
      'the API of control.',
    unit: 's',
    labels: {
      'http.request.method': 'the method, or `_OTHER`',
      'http.route': 'the documented path, such as `/v1/batch`; empty for an unknown path',
      'http.response.status_code': 'the status',
      'url.scheme': '`http`',
    },
  },
  LATENCY_BOUNDS,
);
let active = 0;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const series = new Map<string, Distribution>();

/** Registers the gauge of active requests. Call it once, in a service that answers requests. */
export function observeServer(): void {
  metrics.gauge(
    {
      name: 'http.server.active_requests',
      help: 'Requests in progress, at ingest and at the API of control.',
    },
    () => only(active),
  );
}

/**
 * Measures a request from its start.
 * @param route its documented path, without any text of the client
 */
export function watchRequest(req: IncomingMessage, res: ServerResponse, route: string): void {
  const begunAt = performance.now();
  active++;
  res.once('close', () => {
    active--;
    // A client that left earlier got no response.
    if (res.headersSent) {
      const seconds = (performance.now() - begunAt) / 1_000;
      count(req.method ?? '', route, res.statusCode).record(seconds);
    }
  });
}

function count(method: string, route: string, status: number): Distribution {
  const key = `${method} ${String(status)} ${route}`;
  let found = series.get(key);
  if (!found) {
    found = durations.of({
      'http.request.method': METHODS.has(method) ? method : '_OTHER',
      'http.route': route,
      'http.response.status_code': String(status),
      'url.scheme': 'http',
    });
    // Clients can invent methods, so unknown ones are not stored.
    if (METHODS.has(method)) series.set(key, found);
  }
  return found;
}
