import { get } from 'node:http';
import { messageOf } from '../../shared/service/errors';

/** Asks a service by its health port how it is. */

const ANSWER_MS = 2_000;

/** Why a service is not ready, or undefined where its `/readyz` answers 200. */
export function whyNotReady(host: string, port: number): Promise<string | undefined> {
  return whyNot('readyz', { host, port });
}

/** Why a service does not answer 200 to one of the two questions, or undefined where it does. */
export function whyNot(
  question: 'livez' | 'readyz',
  { host, port }: { host: string; port: number },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    // No agent: a connection kept open would hold up the service's stop.
    const request = get({ host, port, path: `/${question}`, agent: false, timeout: ANSWER_MS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => resolve(messageOf(error)));
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        resolve(response.statusCode === 200 ? undefined : body || `status ${String(response.statusCode)}`);
      });
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', (error) => resolve(messageOf(error)));
  });
}

/** The address by which something that listens on `host` is reached from this machine. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** http://host:port, with the brackets that an IPv6 address needs. */
export function urlOf(host: string, port: number): string {
  const name = reachable(host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${String(port)}`;
}
