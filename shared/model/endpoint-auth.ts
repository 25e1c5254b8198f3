/**
 * Describes the authentication and the TLS settings of a URL, and the signatures of a
 * destination. `config` stores the secrets among them encrypted. Pure.
 */
import { defined } from '../collections/defined';

export const CLIENT_AUTHS = ['basic', 'body'] as const;
type ClientAuth = (typeof CLIENT_AUTHS)[number];

/** @typeParam S a secret: encrypted in `config`, in the clear where it is used */
export type Auth<S> =
  | { type: 'basic'; username: string; password: S }
  | { type: 'bearer'; token: S }
  | { type: 'header'; name: string; value: S }
  | OAuth2<S>
  /** `routing_key` becomes the first member of the body */
  | { type: 'pagerduty'; routingKey: S };

/** The client credentials grant (RFC 6749 section 4.4). */
export interface OAuth2<S> {
  type: 'oauth2';
  tokenUrl: S;
  /** scheme, host and port of `tokenUrl` */
  tokenOrigin: string;
  clientId: string;
  clientSecret: S;
  scope?: string;
  audience?: string;
  /** further form fields of the token request */
  params?: Record<string, S>;
  /** place of the client's credentials; absent: `basic` */
  clientAuth?: ClientAuth;
}

/** PEM. Certificate and key come together. */
export interface EndpointTls<S> {
  /** the client certificate, with its intermediates */
  certificate?: string;
  key?: S;
  /** the authorities that may have signed the endpoint's certificate; absent: those of Node */
  ca?: string;
}

/**
 * Returns the same with each secret converted.
 * @param convert also receives the field of the secret; a field of `params` is `params/<name>`
 */
export function mapAuth<S, T>(auth: Auth<S>, convert: (secret: S, field: string) => T): Auth<T> {
  switch (auth.type) {
    case 'basic':
      return { ...auth, password: convert(auth.password, 'password') };
    case 'bearer':
      return { ...auth, token: convert(auth.token, 'token') };
    case 'header':
      return { ...auth, value: convert(auth.value, 'value') };
    case 'oauth2':
      return mapOAuth2(auth, convert);
    case 'pagerduty':
      return { ...auth, routingKey: convert(auth.routingKey, 'routingKey') };
  }
}

function mapOAuth2<S, T>(auth: OAuth2<S>, convert: (secret: S, field: string) => T): OAuth2<T> {
  const { params, ...rest } = auth;
  const converted = Object.entries(params ?? {}).map(([name, value]) => [
    name,
    convert(value, `params/${name}`),
  ]);
  return {
    ...rest,
    tokenUrl: convert(auth.tokenUrl, 'tokenUrl'),
    clientSecret: convert(auth.clientSecret, 'clientSecret'),
    ...defined({
      params: params ? (Object.fromEntries(converted) as Record<string, T>) : undefined,
    }),
  };
}

/** Returns the same with the private key converted. */
export function mapTls<S, T>(
  { key, ...rest }: EndpointTls<S>,
  convert: (secret: S) => T,
): EndpointTls<T> {
  return {
    ...rest,
    ...defined({ key: key !== undefined ? convert(key) : undefined }),
  };
}

/**
 * Returns the name of the header that the authentication sets, in lower case; undefined if it sets
 * none.
 */
export function authHeaderName(auth: { type: string; name?: unknown }): string | undefined {
  if (auth.type === 'header') {
    return typeof auth.name === 'string' ? auth.name.toLowerCase() : undefined;
  }
  return ['basic', 'bearer', 'oauth2'].includes(auth.type) ? 'authorization' : undefined;
}

export const SIGNATURE_ALGORITHMS = ['sha1', 'sha256', 'sha512'] as const;
export const SIGNATURE_ENCODINGS = ['hex', 'base64'] as const;

/** An HMAC of the body by the shared secret, in the form that a receiver checks. */
export interface CustomSignature {
  header: string;
  algorithm: (typeof SIGNATURE_ALGORITHMS)[number];
  encoding: (typeof SIGNATURE_ENCODINGS)[number];
  /** before the signature, such as `sha256=` */
  prefix?: string;
}

/** @typeParam S a private key */
export interface SignatureSettings<S> {
  /** send X-Signature; absent: true */
  xSignature?: boolean;
  custom?: CustomSignature;
  /** absent: no `v1a` in `webhook-signature` */
  ed25519?: Ed25519Keys<S>;
}

export interface Ed25519Keys<S> {
  current: Ed25519KeyPair<S>;
  /** the previous pair, while a rotation overlaps: both sign */
  previous?: Ed25519KeyPair<S>;
  /** ms since 1970 */
  overlapUntil?: number;
}

export interface Ed25519KeyPair<S> {
  /** `whpk_` and base64 */
  publicKey: string;
  /** `whsk_` and base64 */
  privateKey: S;
  /** ISO 8601 */
  createdAt: string;
}

/** Returns the same with each private key converted. */
export function mapSignature<S, T>(
  signature: SignatureSettings<S>,
  convert: (key: S) => T,
): SignatureSettings<T> {
  const { ed25519, ...rest } = signature;
  if (!ed25519) return rest;
  const pair = (one: Ed25519KeyPair<S>) => ({ ...one, privateKey: convert(one.privateKey) });
  const { current, previous, ...times } = ed25519;
  return {
    ...rest,
    ed25519: {
      ...times,
      current: pair(current),
      ...defined({ previous: previous ? pair(previous) : undefined }),
    },
  };
}
