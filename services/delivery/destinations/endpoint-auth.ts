import { defined } from '../../../shared/collections/defined';
import { type Auth, type EndpointTls } from '../../../shared/model/endpoint-auth';
import { ClientTls } from '../http/client-tls';
import { type ClientCredentials, clientCredentials } from '../http/client-credentials';

/**
 * Compiles the authentication of a URL once per version of its destination, for all of its
 * requests.
 */

export interface PreparedAuth {
  /** alternating names and values, sent as they are */
  headers: string[];
  /** OAuth2: the token is requested when it is needed */
  credentials?: ClientCredentials;
  /** becomes the first member of a body that is a JSON object: `{"routing_key":"…"` */
  bodyStart?: Buffer;
  /** the client certificate, and the authorities that it trusts */
  tls?: ClientTls;
  /** texts to mask in responses, beside the headers */
  secrets: string[];
}

export function prepareAuth(
  { auth, tls: pem }: { auth?: Auth<string> | undefined; tls?: EndpointTls<string> | undefined },
  destination: string,
): PreparedAuth {
  const tls = pem && new ClientTls(pem);
  const prepared: PreparedAuth = {
    headers: [],
    secrets: [],
    ...defined({ tls }),
  };
  switch (auth?.type) {
    case undefined:
      return prepared;
    case 'basic': {
      const pair = Buffer.from(`${auth.username}:${auth.password}`).toString('base64');
      return { ...prepared, headers: ['authorization', `Basic ${pair}`] };
    }
    case 'bearer':
      return { ...prepared, headers: ['authorization', `Bearer ${auth.token}`] };
    case 'header':
      return { ...prepared, headers: [auth.name, auth.value] };
    case 'oauth2': {
      // A token URL that this process cannot decrypt: the whole destination waits.
      if (!URL.canParse(auth.tokenUrl)) return prepared;
      const credentials = clientCredentials(auth, { destination, tlsId: tls?.id });
      return {
        ...prepared,
        credentials,
        secrets: [auth.clientSecret, ...Object.values(auth.params ?? {})],
      };
    }
    case 'pagerduty': {
      const bodyStart = Buffer.from(`{"routing_key":${JSON.stringify(auth.routingKey)}`);
      return { ...prepared, bodyStart, secrets: [auth.routingKey] };
    }
  }
}

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Adds the first member to a body that is a JSON object. The receiver refuses any other body. */
export function withBodyStart(body: Buffer, start: Buffer): Buffer {
  if (body[0] !== OPENING_BRACE) return body;
  return Buffer.concat([
    start,
    Buffer.from(body[1] === CLOSING_BRACE ? '' : ','),
    body.subarray(1),
  ]);
}
