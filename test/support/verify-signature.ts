import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { type ReceivedRequest } from '../../tools/harness/sink';

/**
 * Checks signatures as a receiver does, with node:crypto and the reference library, without
 * Waypost's code.
 */

const PREFIX = 'whsec_';

/** Returns the `X-Signature` of this secret. */
export function hexSha1(secret: string, body: Buffer): string {
  return createHmac('sha1', Buffer.from(secret, 'utf8')).update(body).digest('hex');
}

/** Returns the Standard Webhooks signature of this secret. */
export function standardSignature(secret: string, request: ReceivedRequest): string {
  const key = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
  const { 'webhook-id': id, 'webhook-timestamp': at } = request.headers;
  return `v1,${createHmac('sha256', key).update(`${id!}.${at!}.`).update(request.body).digest('base64')}`;
}

/**
 * Returns whether the reference library accepts the request. It rejects timestamps more than five
 * minutes off.
 */
export function libraryAccepts(secret: string, request: ReceivedRequest): boolean {
  const webhook = secret.startsWith(PREFIX)
    ? new Webhook(secret)
    : new Webhook(secret, { format: 'raw' });
  try {
    webhook.verify(request.body, request.headers as Record<string, string>);
    return true;
  } catch {
    // The reason of the rejection does not matter here.
    return false;
  }
}

/** Returns whether this secret alone signed the request, by every check there is. */
export function isSignedBy(secret: string, request: ReceivedRequest): boolean {
  return (
    request.headers['x-signature'] === hexSha1(secret, request.body) &&
    request.headers['webhook-signature'] === standardSignature(secret, request) &&
    libraryAccepts(secret, request)
  );
}
