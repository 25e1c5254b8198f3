import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { type ReceivedRequest } from '../../tools/harness/sink';

/** Signatures as a receiver checks them, by nothing of our own: node:crypto, and the reference library. */

const PREFIX = 'whsec_';

/** The `X-Signature` that this secret makes. */
export function hexSha1(secret: string, body: Buffer): string {
  return createHmac('sha1', Buffer.from(secret, 'utf8')).update(body).digest('hex');
}

/** The one signature of Standard Webhooks that this secret makes. */
export function standardSignature(secret: string, request: ReceivedRequest): string {
  const key = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
  const { 'webhook-id': id, 'webhook-timestamp': at } = request.headers;
  return `v1,${createHmac('sha256', key).update(`${id!}.${at!}.`).update(request.body).digest('base64')}`;
}

/** Whether the reference library takes the request. It also refuses a timestamp more than five minutes off. */
export function libraryAccepts(secret: string, request: ReceivedRequest): boolean {
  const webhook = secret.startsWith(PREFIX) ? new Webhook(secret) : new Webhook(secret, { format: 'raw' });
  try {
    webhook.verify(request.body, request.headers as Record<string, string>);
    return true;
  } catch {
    // What it throws says why, which is of no interest here.
    return false;
  }
}

/** Whether this secret alone signed the request, by every way there is to check it. */
export function isSignedBy(secret: string, request: ReceivedRequest): boolean {
  return (
    request.headers['x-signature'] === hexSha1(secret, request.body) &&
    request.headers['webhook-signature'] === standardSignature(secret, request) &&
    libraryAccepts(secret, request)
  );
}
