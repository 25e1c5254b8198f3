import { z } from 'zod';
import { isKeepValue, type WebhookFields } from '../../../shared/api/webhooks';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Destination, type Encrypted, type EncryptedWebhook } from '../../../shared/model/config';
import { type FieldError, pointer } from '../http/problem';

/**
 * Matches the webhooks in a request with the stored ones, and decides which stored values they may keep.
 *
 * A stored header value is never sent to an origin other than the one it was set for. Otherwise any editor of a
 * destination could send its credentials to a host of their choice.
 */

/** A stored webhook with its decrypted URL; without it if a key was lost. */
export interface StoredWebhook {
  sealed: EncryptedWebhook;
  url: string | undefined;
}

export function openWebhooks(destination: Destination, encryptor: Encryptor): StoredWebhook[] {
  // Decryption fails only after WAYPOST_SECRET_KEY was lost or changed. The entry stays editable, so that the URL can
  // be set again.
  return destination.webhooks.map((sealed) => ({ sealed, url: encryptor.decrypt(sealed.url, destination.id).text }));
}

/** The readable parts of a body with any other mistakes, so that one response names all errors. */
const outline = z.object({
  webhooks: z
    .array(
      z
        .object({
          id: z.string().optional().catch(undefined),
          url: z.string().optional().catch(undefined),
          headers: z.record(z.string(), z.unknown()).catch({}),
        })
        .catch({ id: undefined, url: undefined, headers: {} }),
    )
    .catch([]),
});
type Outline = z.output<typeof outline>['webhooks'][number];

/**
 * Returns the errors in ids and kept values of `body.webhooks`, in addition to the errors of the schema.
 * @param proxyChanges true if the body sets another proxy, which would see the kept values on their way
 */
export function webhookErrors(body: unknown, stored: readonly StoredWebhook[], proxyChanges = false): FieldError[] {
  const read = outline.safeParse(body);
  const given = read.success ? read.data.webhooks : [];
  const matches = matchStored(given, stored);
  return given.flatMap((item, i) => {
    const match = matches[i];
    const errors = keepErrors(item, match, proxyChanges).map(([header, detail]) => ({
      pointer: pointer(['webhooks', i, 'headers', header]),
      detail,
    }));
    if (item.id === undefined || match) return errors;
    const twice = stored.some(({ sealed }) => sealed.id === item.id);
    const detail = twice
      ? 'is given twice'
      : 'is not the id of a webhook of this destination; leave it out for a new one';
    return [{ pointer: pointer(['webhooks', i, 'id']), detail }, ...errors];
  });
}

/** Returns the stored webhook of each given one: by its id, otherwise by the same URL. None is matched twice. */
function matchStored(given: readonly Outline[], stored: readonly StoredWebhook[]): (StoredWebhook | undefined)[] {
  const left = new Set(stored);
  const take = (wanted: (candidate: StoredWebhook) => boolean) => {
    const found = [...left].find(wanted);
    if (found) left.delete(found);
    return found;
  };
  // Ids first: a URL must not match the webhook that another item names by id.
  const byId = given.map(({ id }) => (id === undefined ? undefined : take(({ sealed }) => sealed.id === id)));
  return given.map((item, i) => {
    if (item.id !== undefined || item.url === undefined) return byId[i];
    const href = normal(item.url);
    return take(({ url }) => url !== undefined && normal(url) === href);
  });
}

/** Returns the errors of a change of the proxy that leaves the stored webhooks, with their secrets, as they are. */
export function proxyChangeErrors(stored: readonly EncryptedWebhook[]): FieldError[] {
  if (!stored.some(hasSecrets)) return [];
  const detail = 'cannot change while stored values are kept. Send `webhooks` with the values of their headers too';
  return [{ pointer: pointer(['proxy']), detail }];
}

/** Returns whether a stored webhook has values that are sent to its origin and that reads do not show. */
function hasSecrets({ headers }: EncryptedWebhook): boolean {
  return Object.keys(headers).length > 0;
}

function keepErrors(
  item: Outline,
  match: StoredWebhook | undefined,
  proxyChanges: boolean,
): [header: string, detail: string][] {
  const kept = Object.entries(item.headers).filter(([, value]) => isKeepValue(value));
  return kept.flatMap(([header]): [string, string][] => {
    if (!match || storedHeader(match, header) === undefined) {
      return [[header, 'has no stored value to keep. Send the value']];
    }
    if (proxyChanges) return [[header, 'cannot be kept, because the proxy changes. Send the value']];
    // The schema reports a text that is not a URL.
    if (item.url !== undefined && URL.canParse(item.url) && new URL(item.url).origin !== match.sealed.origin) {
      return [[header, 'cannot be kept, because the origin of the URL changes. Send the value']];
    }
    return [];
  });
}

/** @param webhooks validated by the schema and by `webhookErrors` */
export function sealWebhooks(
  webhooks: readonly WebhookFields[],
  stored: readonly StoredWebhook[],
  making: { ownerId: string; encryptor: Encryptor; newId: () => string },
): EncryptedWebhook[] {
  const { ownerId, encryptor, newId } = making;
  const matches = matchStored(
    webhooks.map(({ id, url, headers }) => ({ id, url, headers })),
    stored,
  );
  return webhooks.map(({ url, headers }, i) => {
    const match = matches[i];
    const sealed = Object.entries(headers).flatMap(([header, value]): [string, Encrypted][] => {
      if (!isKeepValue(value)) return [[header, encryptor.encrypt(value, ownerId)]];
      const kept = match && storedHeader(match, header);
      return kept === undefined ? [] : [[header, kept]];
    });
    return {
      id: match?.sealed.id ?? newId(),
      url: encryptor.encrypt(url, ownerId),
      origin: new URL(url).origin,
      headers: Object.fromEntries(sealed),
    };
  });
}

/** Header names are case-insensitive. */
function storedHeader({ sealed }: StoredWebhook, header: string): Encrypted | undefined {
  const lower = header.toLowerCase();
  return Object.entries(sealed.headers).find(([stored]) => stored.toLowerCase() === lower)?.[1];
}

function normal(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}
