import { type Encryptor } from '../../../shared/config/encryption';
import {
  type Destination,
  type Encrypted,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { urlHash } from '../../../shared/model/delivery';
import { authHeaderName } from '../../../shared/model/endpoint-auth';
import { isJsonObject } from '../../../shared/model/message';
import { type SecretField, secretFields } from '../../../shared/model/secret-fields';

/** A stored webhook with its decrypted URLs and private key; without them if a key was lost. */
export interface StoredWebhook {
  sealed: EncryptedWebhook;
  url: string | undefined;
  /** of OAuth2 */
  tokenUrl: string | undefined;
  /** PEM */
  tlsKey: string | undefined;
}

export type WebhookError = [path: string[], detail: string];

/** The authentication in a request, before its schema has validated it. */
export interface RawAuth {
  type: string;
  [field: string]: unknown;
}

export function isAuth(value: unknown): value is RawAuth {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  );
}

export function headerNames({
  headers,
  auth,
}: {
  headers?: unknown;
  auth?: unknown;
}): (string | undefined)[] {
  const names = isJsonObject(headers) ? Object.keys(headers).map((name) => name.toLowerCase()) : [];
  return isAuth(auth) ? [...names, authHeaderName(auth)] : names;
}

export function openWebhooks(destination: Destination, encryptor: Encryptor): StoredWebhook[] {
  // Decryption fails only after WAYPOST_SECRET_KEY was lost or changed. The entry stays editable,
  // so that the URL can be set again.
  const { id, webhooks } = destination;
  const open = (text: Encrypted | undefined, field: SecretField) =>
    text === undefined ? text : encryptor.decrypt(text, field).text;
  return webhooks.map((sealed) => ({
    sealed,
    url: open(sealed.url, secretFields.url(id, sealed.id)),
    tokenUrl:
      sealed.auth?.type === 'oauth2'
        ? open(sealed.auth.tokenUrl, secretFields.auth(id, sealed.id, 'tokenUrl'))
        : undefined,
    tlsKey: open(sealed.tls?.key, secretFields.tlsKey(id, sealed.id)),
  }));
}

/**
 * Returns the hashes of webhooks and their URLs by the ids of the webhooks; undefined: the URL
 * cannot be decrypted.
 * @param destination undefined: deleted
 */
export function urlHashes(
  destination: Destination | undefined,
  encryptor: Encryptor,
): Map<string, string | undefined> {
  const known = destination ? openWebhooks(destination, encryptor) : [];
  return new Map(
    known.map(({ sealed, url }) => [
      sealed.id,
      url === undefined ? undefined : urlHash(sealed.id, url),
    ]),
  );
}

export function hashesExcept(
  hashes: ReadonlyMap<string, string | undefined>,
  isWanted: (webhook: string) => boolean,
): string[] {
  return [...hashes].flatMap(([id, hash]) => (hash === undefined || isWanted(id) ? [] : [hash]));
}

/** @returns undefined if the value is not a URL */
export function originOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** The change around the webhooks of a request. */
export interface ChangeContext {
  now: Date;
  /** true if the body sets another proxy, which would see the kept values on their way */
  proxyChanges?: boolean;
}

export const NOTHING_TO_KEEP = 'has no stored value to keep. Send the value';

/**
 * Returns why the stored secrets of a webhook cannot be kept, as the end of a sentence; undefined
 * if they can: they must not go to another host. The schema reports a text that is not a URL.
 */
export function urlChange(
  { url }: { url?: string | undefined },
  { sealed }: StoredWebhook,
  { proxyChanges = false }: ChangeContext,
): string | undefined {
  if (proxyChanges) return becauseOf('the proxy changes');
  const origin = originOf(url);
  return origin === undefined || origin === sealed.origin
    ? undefined
    : becauseOf('the origin of the URL changes');
}

function becauseOf(cause: string): string {
  return `cannot be kept, because ${cause}. Send the value`;
}

/**
 * Returns why a secret cannot be kept that may also go to the token endpoint: those of the
 * authentication, and the private key of the client certificate.
 */
export function secretChange(
  { url, auth }: { url?: string | undefined; auth?: unknown },
  match: StoredWebhook,
  around: ChangeContext,
): string | undefined {
  const { sealed } = match;
  const tokenUrl = isAuth(auth) && auth.type === 'oauth2' ? auth.tokenUrl : undefined;
  const stored = sealed.auth?.type === 'oauth2' ? sealed.auth.tokenOrigin : undefined;
  const change =
    originOf(tokenUrl) === stored ? undefined : becauseOf('the origin of tokenUrl changes');
  return urlChange({ url }, match, around) ?? change;
}
