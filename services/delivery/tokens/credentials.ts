import { hash } from 'node:crypto';
import { defined } from '../../../shared/collections/defined';
import { type OAuth2 } from '../../../shared/model/endpoint-auth';
import { requestTarget, USUAL_USER_AGENT } from '../../../shared/model/webhook-request';

/** The client credentials of a URL, prepared as a token request (RFC 6749, section 4.4). Pure. */
export interface ClientCredentials {
  /** the same for equal credentials; reveals none of them */
  key: string;
  /** for the log */
  destination: string;
  origin: string;
  path: string;
  /** alternating names and values */
  headers: string[];
  body: Buffer;
}

/**
 * @param tlsId the client certificate that the token endpoint sees, if any: a token may be bound to
 *   it
 */
export function clientCredentials(
  auth: OAuth2<string>,
  { destination, tlsId }: { destination: string; tlsId: string | undefined },
): ClientCredentials {
  const {
    tokenUrl,
    clientId,
    clientSecret,
    scope,
    audience,
    params = {},
    clientAuth = 'basic',
  } = auth;
  const url = new URL(tokenUrl);
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...defined({
      client_id: clientAuth === 'body' ? clientId : undefined,
      client_secret: clientAuth === 'body' ? clientSecret : undefined,
      scope,
      audience,
    }),
    ...params,
  }).toString();
  const headers = [
    'content-type',
    'application/x-www-form-urlencoded',
    'accept',
    'application/json',
    'user-agent',
    USUAL_USER_AGENT,
    ...(clientAuth === 'basic' ? ['authorization', basicOf(clientId, clientSecret)] : []),
  ];
  const key = hash('sha256', JSON.stringify([tokenUrl, headers, form, tlsId]), 'base64url');
  const { origin } = url;
  return {
    key,
    destination,
    origin,
    path: requestTarget(tokenUrl),
    headers,
    body: Buffer.from(form),
  };
}

/** Encodes both as forms do (RFC 6749 section 2.3.1): they may contain a colon. */
function basicOf(clientId: string, clientSecret: string): string {
  const [id, secret] = [clientId, clientSecret].map((text) =>
    new URLSearchParams({ '': text }).toString().slice(1),
  );
  return `Basic ${Buffer.from(`${String(id)}:${String(secret)}`).toString('base64')}`;
}
