import { X509Certificate } from 'node:crypto';
import { type EndpointTls } from '../../../shared/model/endpoint-auth';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates in the order of the text; none if one cannot be read. */
export function readCertificates(pem: string): X509Certificate[] {
  try {
    return (pem.match(CERTIFICATES) ?? []).map((block) => new X509Certificate(block));
  } catch {
    // The text of the error is OpenSSL's, and helps nobody.
    return [];
  }
}

interface TlsEnds {
  certificate: readonly number[];
  ca: readonly number[];
}

/** By the object of the entry, which is new for each version of the entry. */
const known = new WeakMap<object, TlsEnds>();

/**
 * Returns when each certificate expires, ms since 1970. Alerts ask again and again, so a text is
 * read once.
 */
export function tlsEnds(tls: Pick<EndpointTls<string>, 'certificate' | 'ca'>): TlsEnds {
  let ends = known.get(tls);
  if (!ends) known.set(tls, (ends = { certificate: endsIn(tls.certificate), ca: endsIn(tls.ca) }));
  return ends;
}

function endsIn(pem = ''): number[] {
  return readCertificates(pem).map(({ validTo }) => Date.parse(validTo));
}
