import { get } from 'node:http';
import { messageOf } from '../shared/runtime/errors';

/** Asks a service for its state at its health port. */

const ANSWER_MS = 2_000;

/** Returns why a service is not ready, or undefined if its `/readyz` responds with 200. */
export function whyNotReady(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    // No agent: an open connection would delay the service's stop.
    const request = get(
      { host, port, path: '/readyz', agent: false, timeout: ANSWER_MS },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => resolve(messageOf(error)));
        response.on('end', () => {
          const body = Buffer.concat(chunks).toString();
          resolve(
            response.statusCode === 200
              ? undefined
              : body || `status ${String(response.statusCode)}`,
          );
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', (error) => resolve(messageOf(error)));
  });
}

/** Returns the address at which this machine reaches a listener on `host`. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Formats http://host:port, with brackets for an IPv6 address. */
export function urlOf(host: string, port: number): string {
  const name = reachable(host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${String(port)}`;
}
