import { defined } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { batchContentType } from '../../../shared/model/batch';
import {
  type Destination,
  type Encrypted,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { type Delivery } from '../../../shared/model/delivery';
import { authHeaderName, mapAuth } from '../../../shared/model/endpoint-auth';
import { type SecretField, secretFields } from '../../../shared/model/secret-fields';
import {
  CONTENT_ENCODING,
  CONTENT_TYPE,
  isOwnHeader,
  USUAL_CONTENT_TYPE,
  USUAL_HEADERS,
} from '../../../shared/model/webhook-request';
import { contentTypeBy } from '../../../shared/render/render-request';

/**
 * Shows which URL an attempt called, and the request as it was sent, by the version of the
 * destination that the attempt names. Pure.
 */

interface CalledRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  changed?: true;
  changedHeaders?: string[];
}

export type CalledUrl = (
  url: UrlAttempt,
  replay: number,
) => { address: string | null; request: CalledRequest | null };

type SentRequest = Pick<Delivery, 'replay' | 'method' | 'contentType' | 'headers'>;

export interface CalledContext {
  deliveryId: string;
  /** the last replay; undefined: Kafka no longer has the record */
  sent: SentRequest | undefined;
  /** the destination as it is today; undefined: deleted */
  today: Destination | undefined;
  versionOf: (version: number) => Destination | undefined;
  encryptor: Encryptor;
  /** whole URLs instead of origins */
  seesUrls: boolean;
}

const MASKED = '***';

export function calledUrl(context: CalledContext): CalledUrl {
  const { versionOf, seesUrls } = context;
  return (url, replay) => {
    const { origin, destinationVersion } = url;
    const then = versionOf(destinationVersion);
    const webhook = webhookOf(then, url);
    if (!then || !webhook) return { address: null, request: null };
    const address = seesUrls
      ? (context.encryptor.decrypt(webhook.url, secretFields.url(then.id, webhook.id)).text ?? null)
      : null;
    const changedHeaders = changes(context, then, url);
    const sent = context.sent?.replay === replay ? context.sent : requestBy(then);
    const request: CalledRequest = {
      url: address ?? origin,
      method: sent.method ?? 'POST',
      headers: { ...renderedHeaders(sent, url), ...headersOf(context, url, then) },
    };
    if (changedHeaders.length > 0) {
      request.changed = true;
      request.changedHeaders = changedHeaders;
    }
    return { address, request };
  };
}

function webhookOf(
  destination: Destination | undefined,
  { url }: UrlAttempt,
): EncryptedWebhook | undefined {
  return destination?.webhooks.find(({ id }) => id === url);
}

/**
 * A request as it was rendered. `contentType` undefined: JSON; null: only the message decides it,
 * which is not known.
 */
type RenderedRequest = Pick<SentRequest, 'method' | 'headers'> & {
  contentType?: string | null | undefined;
};

/**
 * Returns the request by the settings of a destination, without the headers that only the message
 * decides.
 */
function requestBy(destination: Destination): RenderedRequest {
  const { method, headers = {} } = destination.request ?? {};
  const isRendered = Object.keys(headers).some((name) => name.toLowerCase() === CONTENT_TYPE);
  return {
    ...defined({ method }),
    contentType: isRendered ? null : contentTypeBy(destination),
  };
}

/**
 * Returns the headers that have the same value on most requests, those about the body and the
 * rendered ones, in lower case.
 */
function renderedHeaders(
  { contentType, headers = [] }: RenderedRequest,
  { batch, gzip }: UrlAttempt,
) {
  const { [CONTENT_TYPE]: _, ...usual } = USUAL_HEADERS;
  const named: Record<string, string> = usual;
  const type = contentType === undefined ? USUAL_CONTENT_TYPE : contentType;
  if (type !== null) named[CONTENT_TYPE] = (batch && batchContentType(type)) ?? type;
  if (gzip) named[CONTENT_ENCODING] = 'gzip';
  for (let i = 0; i + 1 < headers.length; i += 2) {
    named[(headers[i] ?? '').toLowerCase()] = headers[i + 1] ?? '';
  }
  return named;
}

/**
 * Masks secrets. It leaves out Waypost's headers whose values are stored nowhere, since they differ
 * with each request.
 */
function headersOf(context: CalledContext, url: UrlAttempt, destination: Destination) {
  const secret = Object.keys(secretHeaders(context, destination, webhookOf(destination, url)));
  return {
    'webhook-id': url.batch?.id ?? context.deliveryId,
    ...Object.fromEntries(secret.map((name) => [name, MASKED])),
  };
}

/** Returns the names of the headers whose secret values differ from the current ones. */
function changes(context: CalledContext, then: Destination, url: UrlAttempt): string[] {
  const { today } = context;
  const before = secretHeaders(context, then, webhookOf(then, url));
  const now = secretHeaders(context, today, webhookOf(today, url));
  return Object.keys(before).filter((name) => before[name] !== now[name]);
}

/**
 * Returns the headers with secret values, in lower case: static ones, the authentication, and
 * signatures. The values are texts that differ if the secrets or the settings behind a header
 * differ; they must not be shown.
 */
function secretHeaders(
  { encryptor }: CalledContext,
  destination: Destination | undefined,
  webhook: EncryptedWebhook | undefined,
): Record<string, string> {
  if (!destination) return {};
  const { id, secrets, signature = {} } = destination;
  const open = (sealed: Encrypted, field: SecretField) =>
    encryptor.decrypt(sealed, field).text ?? sealed;
  const secret = secrets && open(secrets.current, secretFields.sharedSecret(id));
  const { xSignature = true, custom, ed25519 } = signature;
  const headers: Record<string, string> = {};
  if (webhook) Object.assign(headers, headersWithSecrets(id, webhook, open));
  if (secret !== undefined && xSignature) headers['x-signature'] = secret;
  const key = ed25519 && open(ed25519.current.privateKey, secretFields.ed25519(id));
  if (secret !== undefined || key !== undefined) {
    headers['webhook-signature'] = JSON.stringify([secret, key]);
  }
  if (secret !== undefined && custom) {
    headers[custom.header.toLowerCase()] = JSON.stringify([secret, custom]);
  }
  return headers;
}

/** Returns the static headers of a webhook and the header of its authentication. */
function headersWithSecrets(
  destination: string,
  { id, headers, auth }: EncryptedWebhook,
  open: (sealed: Encrypted, field: SecretField) => string,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, sealed] of Object.entries(headers)) {
    if (isOwnHeader(name)) continue;
    found[name.toLowerCase()] = open(sealed, secretFields.header(destination, id, name));
  }
  const authHeader = auth && authHeaderName(auth);
  if (auth && authHeader !== undefined) {
    const opened = mapAuth(auth, (sealed, name) =>
      open(sealed, secretFields.auth(destination, id, name)),
    );
    found[authHeader] = JSON.stringify(opened);
  }
  return found;
}
