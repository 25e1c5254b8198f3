import { type Delivery } from '../../../shared/model/delivery';
import { signHeaders } from '../../../shared/model/sign';
import { type SendRequest } from './exchange';
import { type OpenDestination, type Target } from '../endpoints';

/**
 * Builds the request of one attempt at one URL. It is signed when it is sent, because the signature of a request that
 * waited would be stale.
 */
export function buildRequest(input: {
  delivery: Delivery;
  body: Buffer;
  destination: OpenDestination;
  target: Target;
  nowMs: number;
  /** of this request */
  traceparent: string;
}): SendRequest {
  const { delivery, body, destination, target, nowMs, traceparent } = input;
  const timestampS = Math.floor(nowMs / 1000);
  const headers = signHeaders({ id: delivery.id, timestampS, body, secrets: destination.secrets, nowMs });
  headers.push('content-type', 'application/json', 'user-agent', 'Waypost/1.0');
  headers.push('traceparent', traceparent, ...target.staticHeaders);
  return { origin: target.origin, path: target.path, headers, body };
}
