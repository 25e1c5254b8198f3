import { type Delivery } from '../../../shared/model/delivery';
import { signHeaders } from '../../../shared/model/sign';
import { addOwnHeaders, CONTENT_ENCODING } from '../../../shared/model/webhook-request';
import { type ClientCredentials } from '../http/client-credentials';
import { compress } from '../http/compress';
import { type SendRequest, type SendResult } from '../http/exchange';
import { type Job, type Refusal } from '../lanes/job';
import { type Endpoint, type OpenDestination } from './endpoint';
import { withBodyStart } from './endpoint-auth';

/** Builds the signed request to a URL, and hands it to the sender. */

/** A URL that may be sent to now, as the configuration says now. */
export interface Permit {
  destination: OpenDestination;
  endpoint: Endpoint;
}

export function isPermit(permit: Permit | 'overdue' | undefined): permit is Permit {
  return permit !== undefined && permit !== 'overdue';
}

/** Sends webhooks: an `AuthorizingSender`, or a test in its place. */
export interface WebhookSender {
  /** Calls `done` once, never before it returns. */
  send(request: SendRequest, done: (result: SendResult) => void): void;
  /** Returns why a request with these credentials would not be sent now. */
  held?(credentials: ClientCredentials, insists?: Job['insists']): Refusal | undefined;
}

const NO_AUTH: NonNullable<Endpoint['auth']> = {};

/** The differences of a delivery's request from the default POST. */
export type Rendered = Pick<Delivery, 'method' | 'contentType' | 'headers'>;

/**
 * Builds and signs the request. The signature of a request that waited after this would be stale.
 */
export function buildRequest(input: {
  /** the `webhook-id`: of the delivery, or of a batch */
  id: string;
  /** the request as the router rendered it */
  rendered: Rendered;
  body: Buffer;
  destination: OpenDestination;
  endpoint: Endpoint;
  nowMs: number;
  traceparent: string;
}): SendRequest {
  const { id, rendered, destination, endpoint, nowMs } = input;
  const { secrets, signatures } = destination;
  const { bodyStart, tls, credentials } = endpoint.auth ?? NO_AUTH;
  const body = bodyStart ? withBodyStart(input.body, bodyStart) : input.body;
  const timestampS = Math.floor(nowMs / 1000);
  const headers = signHeaders({ id, timestampS, body, secrets, signatures, nowMs });
  const signatureEntries = headers.length;
  addOwnHeaders(headers, input);
  headers.push(...endpoint.staticHeaders);
  if (rendered.headers) addRendered(headers, rendered.headers);
  const request: SendRequest = {
    origin: endpoint.origin,
    path: endpoint.path,
    headers,
    signatureEntries,
    body,
  };
  if (rendered.method) request.method = rendered.method;
  if (endpoint.timeoutMs !== undefined) request.timeoutMs = endpoint.timeoutMs;
  if (endpoint.proxy) request.proxy = endpoint.proxy;
  if (tls) request.tls = tls;
  if (credentials) request.credentials = credentials;
  return request;
}

/** Sends the request, with its signed body compressed if the destination wants that. */
export function sendRequest(
  sender: WebhookSender,
  { gzipAbove }: Pick<OpenDestination, 'gzipAbove'>,
  request: SendRequest,
  done: (result: SendResult) => void,
): void {
  if (gzipAbove === undefined || request.body.length <= gzipAbove) {
    sender.send(request, done);
    return;
  }
  compress(request.body, (compressed) => {
    if (!compressed) {
      sender.send(request, done);
      return;
    }
    request.body = compressed;
    request.headers.push(CONTENT_ENCODING, 'gzip');
    sender.send(request, (result) => done({ ...result, gzip: true }));
  });
}

/** Adds the rendered headers. A header that was set since the delivery was rendered wins. */
function addRendered(headers: string[], rendered: readonly string[]): void {
  const set = new Set(headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  for (let i = 0; i + 1 < rendered.length; i += 2) {
    const [name = '', value = ''] = rendered.slice(i, i + 2);
    if (!set.has(name.toLowerCase())) headers.push(name, value);
  }
}
