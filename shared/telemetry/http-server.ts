import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Distribution, LATENCY_BOUNDS, metrics, only } from './metrics';

/** Requests that a service answers, by the names of the conventions. */

const durations = metrics.histogram(
  {
    name: 'http.server.request.duration',
    help: 'Time from the head of a request to the last byte of its response, at ingest and at the API of control.',
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

/** To be called once, by a service that answers requests. */
export function observeServer(): void {
  metrics.gauge(
    { name: 'http.server.active_requests', help: 'Requests in progress, at ingest and at the API of control.' },
    () => only(active),
  );
}

/**
 * A request has begun.
 * @param routeOf its path as documented, without anything that a client has put into it; asked when it was answered
 */
export function watchRequest(req: IncomingMessage, res: ServerResponse, routeOf: () => string): void {
  const begunAt = performance.now();
  active++;
  res.once('close', () => {
    active--;
    // Who left before the answer was given none.
    if (res.headersSent)
      count(req.method ?? '', routeOf(), res.statusCode).record((performance.now() - begunAt) / 1_000);
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
    // Methods are the client's to invent: those that nobody knows are not remembered.
    if (METHODS.has(method)) series.set(key, found);
  }
  return found;
}
