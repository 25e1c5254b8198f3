import pino from 'pino';
import { ClientTls } from '../../services/delivery/http/client-tls';
import { type SendRequest } from '../../services/delivery/http/exchange';
import { Proxies } from '../../services/delivery/http/proxies';
import { type Certificate, makeCertificate } from './certificate';
import { startHttpProxy } from './egress-proxies';

/** The ways on which a request may reach its endpoint. */

export const WAYS = ['plain', 'TLS', 'TLS through a proxy'] as const;

export interface Way {
  name: (typeof WAYS)[number];
  /** of the endpoint; undefined: it speaks no TLS */
  certificate: Certificate | undefined;
  /** what a request needs to take it */
  request: Pick<SendRequest, 'tls' | 'proxy'>;
  close(): Promise<void>;
}

export async function openWay(name: Way['name']): Promise<Way> {
  if (name === 'plain') {
    return { name, certificate: undefined, request: {}, close: () => Promise.resolve() };
  }
  const certificate = makeCertificate();
  const tls = new ClientTls({ ca: certificate.cert });
  if (name === 'TLS') {
    return { name, certificate, request: { tls }, close: () => Promise.resolve() };
  }
  const server = await startHttpProxy();
  const log = pino({ level: 'silent' });
  const proxies = new Proxies({ usual: undefined, now: () => performance.now(), log });
  const address = `http://127.0.0.1:${String(server.port)}`;
  const proxy = proxies.of({ address }, (text) => text);
  if (!proxy) throw new Error('there is no proxy');
  return { name, certificate, request: { tls, proxy }, close: () => server.close() };
}
