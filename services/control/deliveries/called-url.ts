import { type Encryptor } from '../../../shared/config/encryption';
import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { DELIVERIES_HEADER } from '../../../shared/model/batch';
import { type Destination, type Encrypted, type EncryptedWebhook } from '../../../shared/model/config';
import { FIXED_HEADERS, isOwnHeader, OWN_HEADERS, SIGNATURE_HEADERS } from '../../../shared/model/webhook-request';

/**
 * Shows which URL an attempt called, and the request as it was sent, by the version of the destination that the attempt
 * names. Pure.
 */

interface CalledRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  changed?: true;
  changedHeaders?: string[];
  rebuilt?: true;
}

export type CalledUrl = (url: UrlAttempt) => { address: string | null; request: CalledRequest | null };

export interface CalledContext {
  deliveryId: string;
  /** the destination as it is today; undefined: deleted */
  today: Destination | undefined;
  /** versions of the destination that control has seen; undefined: unknown */
  versionOf: (version: number) => Destination | undefined;
  encryptor: Encryptor;
  /** whole URLs instead of origins */
  seesUrls: boolean;
}

const MASKED = '***';

export function calledUrl(context: CalledContext): CalledUrl {
  const { today, versionOf, seesUrls } = context;
  return (url) => {
    const { origin, destinationVersion } = url;
    if (destinationVersion === undefined) {
      // The attempt does not name the version, so the headers are those of today.
      const headers = headersOf(context, url, today);
      return { address: null, request: { url: origin, method: 'POST', rebuilt: true, headers } };
    }
    const then = versionOf(destinationVersion);
    const webhook = webhookOf(then, url);
    if (!then || !webhook) return { address: null, request: null };
    const address = seesUrls ? (open(context, then.id, webhook.url) ?? null) : null;
    const changedHeaders = changes(context, then, webhook);
    const request: CalledRequest = {
      url: address ?? origin,
      method: 'POST',
      headers: headersOf(context, url, then),
      ...(changedHeaders.length > 0 && { changed: true, changedHeaders }),
    };
    return { address, request };
  };
}

function webhookOf(destination: Destination | undefined, { url }: UrlAttempt): EncryptedWebhook | undefined {
  return destination?.webhooks.find(({ id }) => id === url);
}

/** Secrets and values of the moment are masked. */
function headersOf(
  { deliveryId }: CalledContext,
  url: UrlAttempt,
  destination: Destination | undefined,
): Record<string, string> {
  const absent = [...(url.batch ? [] : [DELIVERIES_HEADER]), ...(destination?.secrets ? [] : SIGNATURE_HEADERS)];
  return {
    ...masked(OWN_HEADERS.filter((name) => !absent.includes(name))),
    ...FIXED_HEADERS,
    'webhook-id': url.batch?.id ?? deliveryId,
    ...masked(Object.keys(staticHeaders(webhookOf(destination, url)))),
  };
}

function masked(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, MASKED]));
}

/** Returns the sealed values of the headers that delivery sends, by lower-case name. */
function staticHeaders(webhook: EncryptedWebhook | undefined): Record<string, Encrypted> {
  const sendable = Object.entries(webhook?.headers ?? {}).filter(([name]) => !isOwnHeader(name));
  return Object.fromEntries(sendable.map(([name, sealed]) => [name.toLowerCase(), sealed]));
}

/** Compares secret values with the current ones. Returns the names of the headers that differ. */
function changes(context: CalledContext, then: Destination, webhook: EncryptedWebhook): string[] {
  const { today } = context;
  const now = staticHeaders(today?.webhooks.find(({ id }) => id === webhook.id));
  const differs = (before: Encrypted | undefined, after: Encrypted | undefined) =>
    before !== after && (!before || !after || open(context, then.id, before) !== open(context, then.id, after));
  const headers = Object.entries(staticHeaders(webhook)).flatMap(([name, sealed]) =>
    differs(sealed, now[name]) ? [name] : [],
  );
  const isResigned = then.secrets !== undefined && differs(then.secrets.current, today?.secrets?.current);
  return isResigned ? [...headers, ...SIGNATURE_HEADERS] : headers;
}

function open({ encryptor }: CalledContext, owner: string, sealed: Encrypted): string | undefined {
  return encryptor.decrypt(sealed, owner).text;
}
