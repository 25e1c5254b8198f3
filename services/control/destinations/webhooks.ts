import { z } from 'zod';
import { isKeepValue } from '../../../shared/api/endpoint-auth';
import { type WebhookFields } from '../../../shared/api/webhooks';
import { defined } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import {
  type Destination,
  type Encrypted,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { secretFields } from '../../../shared/model/secret-fields';
import { errorAt, type FieldError } from '../http/problem';
import { authErrors, authView, sealAuth } from './auth';
import {
  type ChangeContext,
  NOTHING_TO_KEEP,
  openWebhooks,
  originOf,
  type StoredWebhook,
  urlChange,
  type WebhookError,
} from './stored-webhook';
import { sealTls, tlsErrors, tlsView } from './tls';

/**
 * Matches the webhooks in a request with the stored ones, and decides which stored values they may
 * keep.
 *
 * A stored header value is never sent to an origin other than the one it was set for. Otherwise any
 * editor of a destination could send its credentials to a host of their choice.
 */

/** The readable parts of a body with any other mistakes, so that one response names all errors. */
const outline = z.object({
  webhooks: z
    .array(
      z
        .object({
          id: z.string().optional().catch(undefined),
          url: z.string().optional().catch(undefined),
          headers: z.record(z.string(), z.unknown()).catch({}),
          auth: z.unknown().optional(),
          tls: z.unknown().optional(),
        })
        .catch({ id: undefined, url: undefined, headers: {}, auth: undefined, tls: undefined }),
    )
    .catch([]),
});
type Outline = z.output<typeof outline>['webhooks'][number];

/**
 * Returns the errors in ids, kept values and certificates of `body.webhooks`, in addition to the
 * errors of the schema.
 */
export function webhookErrors(
  body: unknown,
  stored: readonly StoredWebhook[],
  around: ChangeContext,
): FieldError[] {
  const read = outline.safeParse(body);
  const given = read.success ? read.data.webhooks : [];
  const matches = matchStored(given, stored);
  return given.flatMap((item, i) => {
    const match = matches[i];
    const found = [
      ...keepErrors(item, match, around),
      ...authErrors(item, match, around),
      ...tlsErrors(item, match, around),
    ];
    const errors = found.map(([path, detail]) => errorAt(['webhooks', i, ...path], detail));
    if (item.id === undefined || match) return errors;
    const twice = stored.some(({ sealed }) => sealed.id === item.id);
    const detail = twice
      ? 'is given twice'
      : 'is not the id of a webhook of this destination; leave it out for a new one';
    return [errorAt(['webhooks', i, 'id'], detail), ...errors];
  });
}

/**
 * Returns the stored webhook of each given one: by its id, otherwise by the same URL. None is
 * matched twice.
 */
function matchStored(
  given: readonly Pick<Outline, 'id' | 'url'>[],
  stored: readonly StoredWebhook[],
): (StoredWebhook | undefined)[] {
  const left = new Set(stored);
  const take = (wanted: (candidate: StoredWebhook) => boolean) => {
    const found = [...left].find(wanted);
    if (found) left.delete(found);
    return found;
  };
  // Ids first: a URL must not match the webhook that another item names by id.
  const byId = given.map(({ id }) =>
    id === undefined ? undefined : take(({ sealed }) => sealed.id === id),
  );
  return given.map((item, i) => {
    if (item.id !== undefined || item.url === undefined) return byId[i];
    const href = normal(item.url);
    return take(({ url }) => url !== undefined && normal(url) === href);
  });
}

/**
 * Returns the errors of a change of the proxy that leaves the stored webhooks, with their secrets,
 * as they are.
 */
export function proxyChangeErrors(stored: readonly EncryptedWebhook[]): FieldError[] {
  if (!stored.some(hasSecrets)) return [];
  const detail =
    'cannot change while stored values are kept. Send `webhooks` with the values of their ' +
    'secrets too';
  return [errorAt(['proxy'], detail)];
}

/**
 * Returns whether a stored webhook has values that are sent to its origin and that reads do not
 * show.
 */
function hasSecrets({ headers, auth, tls }: EncryptedWebhook): boolean {
  return Object.keys(headers).length > 0 || auth !== undefined || tls?.key !== undefined;
}

function keepErrors(
  item: Outline,
  match: StoredWebhook | undefined,
  around: ChangeContext,
): WebhookError[] {
  const kept = Object.entries(item.headers).filter(([, value]) => isKeepValue(value));
  return kept.flatMap(([header]): WebhookError[] => {
    const isStored = match && storedHeader(match, header) !== undefined;
    const problem = isStored ? urlChange(item, match, around) : NOTHING_TO_KEEP;
    return problem === undefined ? [] : [[['headers', header], problem]];
  });
}

/** @param webhooks validated by the schema and by `webhookErrors` */
export function sealWebhooks(
  webhooks: readonly WebhookFields[],
  stored: readonly StoredWebhook[],
  making: { ownerId: string; encryptor: Encryptor; newId: () => string },
): EncryptedWebhook[] {
  const { ownerId, encryptor, newId } = making;
  const matches = matchStored(webhooks, stored);
  return webhooks.map(({ url, headers, auth, tls }, i) => {
    const match = matches[i];
    const id = match?.sealed.id ?? newId();
    const sealed = Object.entries(headers).flatMap(([header, value]): [string, Encrypted][] => {
      if (!isKeepValue(value)) {
        return [[header, encryptor.encrypt(value, secretFields.header(ownerId, id, header))]];
      }
      const kept = match && storedHeader(match, header);
      return kept === undefined ? [] : [[header, kept]];
    });
    const encryptAuth = (text: string, name: string) =>
      encryptor.encrypt(text, secretFields.auth(ownerId, id, name));
    const encryptKey = (key: string) => encryptor.encrypt(key, secretFields.tlsKey(ownerId, id));
    const webhook: EncryptedWebhook = {
      id,
      url: encryptor.encrypt(url, secretFields.url(ownerId, id)),
      origin: new URL(url).origin,
      headers: Object.fromEntries(sealed),
      ...defined({
        auth: auth ? sealAuth(auth, match?.sealed.auth, encryptAuth) : undefined,
        tls: tls ? sealTls(tls, match?.sealed.tls, encryptKey) : undefined,
      }),
    };
    const { disabled, enables } = standingOf(match, url);
    if (disabled) webhook.disabled = disabled;
    if (enables !== undefined) webhook.enables = enables;
    return webhook;
  });
}

/**
 * Returns whether a webhook is off. Another URL is on: what the receiver of the former one said is
 * not about it.
 */
function standingOf(
  match: StoredWebhook | undefined,
  url: string,
): Pick<EncryptedWebhook, 'disabled' | 'enables'> {
  if (!match) return {};
  const { enables = 0 } = match.sealed;
  return match.url === url ? match.sealed : { enables: enables + 1 };
}

/** Header names are case-insensitive. */
function storedHeader({ sealed }: StoredWebhook, header: string): Encrypted | undefined {
  const lower = header.toLowerCase();
  return Object.entries(sealed.headers).find(([stored]) => stored.toLowerCase() === lower)?.[1];
}

function normal(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

/**
 * Returns the API view: header values and secrets read as kept, and URLs are whole only for
 * administrators.
 */
export function webhookViews(destination: Destination, encryptor: Encryptor, seesSecrets: boolean) {
  return openWebhooks(destination, encryptor).map(({ sealed, url, tokenUrl }) => ({
    id: sealed.id,
    url: seesSecrets ? (url ?? null) : sealed.origin,
    headers: Object.fromEntries(
      Object.keys(sealed.headers).map((header) => [header, { keep: true as const }]),
    ),
    auth: authView(sealed.auth, (seesSecrets ? tokenUrl : originOf(tokenUrl)) ?? null),
    tls: tlsView(sealed.tls),
    disabled: sealed.disabled ?? null,
  }));
}
