import { hash, X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  DEFAULT_ECDH_CURVE,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';
import { defined } from '../../../shared/collections/defined';
import { type EndpointTls } from '../../../shared/model/endpoint-auth';

/**
 * Node's ciphers, without the key exchange whose numbers the server chooses. This process
 * calculates with them as long as they are long, half a second for the longest, in the one thread
 * that serves all endpoints. Every server of the last fifteen years offers another one.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;
/** OpenSSL before 3.5 would offer numbers of 8,192 bits for TLS 1.3, too. */
const CURVES = /^3\.[0-4]\./.test(process.versions.openssl)
  ? 'X25519:P-256:P-384:P-521'
  : DEFAULT_ECDH_CURVE;

/** Returns the context of a connection to an endpoint. */
export function endpointContext(options: SecureContextOptions = {}): SecureContext {
  return createSecureContext({ ...options, ciphers: CIPHERS, ecdhCurve: CURVES });
}

/**
 * The client certificate of a URL and the authorities that it trusts. Connections and TLS sessions
 * of different ones are never shared: a connection carries the identity that opened it.
 */
export class ClientTls {
  /** tells identities apart, and reveals none */
  readonly id: string;
  #context: SecureContext | undefined;

  get certificate(): string | undefined {
    return this.pem.certificate;
  }

  constructor(private readonly pem: EndpointTls<string>) {
    const { certificate = '', key = '', ca = '' } = pem;
    this.id = hash('sha256', JSON.stringify([certificate, key, ca]), 'base64url');
  }

  /** @throws an error of OpenSSL if this version of Node does not accept them */
  get context(): SecureContext {
    const { certificate: cert, key, ca } = this.pem;
    this.#context ??= endpointContext(
      defined({
        cert,
        key,
        ca,
      }),
    );
    return this.#context;
  }

  /** Returns a sentence if the client certificate has expired. */
  expired(nowMs: number): string | undefined {
    const { certificate } = this;
    if (certificate === undefined) return undefined;
    const { validTo } = new X509Certificate(certificate);
    return Date.parse(validTo) < nowMs
      ? `the client certificate expired at ${new Date(validTo).toISOString()}`
      : undefined;
  }
}

/**
 * Returns the likely cause if an endpoint closes a new TLS connection without a response. With TLS
 * 1.3 an endpoint reads the client certificate after the handshake, and some endpoints then close
 * the connection without a reason.
 */
export function closedCause(tls: ClientTls | undefined, nowMs: number): string {
  if (tls?.certificate === undefined) return 'the endpoint may demand a client certificate';
  return tls.expired(nowMs) ?? 'the endpoint may not accept the client certificate';
}

/** Codes of Node and OpenSSL → the cause in words. */
const CAUSES: readonly [RegExp, string][] = [
  [/^CERT_HAS_EXPIRED$/, 'the certificate of the endpoint has expired'],
  [/^CERT_NOT_YET_VALID$/, 'the certificate of the endpoint is not valid yet'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'the certificate of the endpoint is for another host'],
  [
    /UNABLE_TO_VERIFY_LEAF/,
    'the endpoint sends no intermediate certificate, and no trusted authority signed the ' +
      'certificate of the endpoint itself',
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER/,
    'no trusted authority signed the certificate of the endpoint',
  ],
  [
    /ALERT_NO_APPLICATION_PROTOCOL$/,
    'the endpoint does not speak HTTP/1.1: it may speak HTTP/2 only',
  ],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/,
    'the endpoint does not speak TLS here: its URL may begin with http://',
  ],
  [/ALERT_CERTIFICATE_REQUIRED$/, 'the endpoint demands a client certificate'],
  [/ALERT_CERTIFICATE_EXPIRED$/, 'the endpoint says that the client certificate has expired'],
  [
    /ALERT_HANDSHAKE_FAILURE$/,
    'the endpoint refused the handshake, and may demand a client certificate',
  ],
  [/ALERT_UNKNOWN_CA$/, 'the endpoint does not trust the authority of the client certificate'],
  [
    /ALERT_(BAD|UNSUPPORTED)_CERTIFICATE$|ALERT_CERTIFICATE_(REVOKED|UNKNOWN)$/,
    'the endpoint refuses the client certificate',
  ],
];

/** Returns the cause of a TLS error in words; undefined if the code says nothing. */
export function tlsCause(code: string): string | undefined {
  return CAUSES.find(([pattern]) => pattern.test(code))?.[1];
}
