import { defined } from '../collections/defined';
import { type Destination, type Encrypted, type EncryptedWebhook } from './config';
import { mapAuth, mapSignature, mapTls } from './endpoint-auth';

/**
 * Names the encrypted fields of the entries of `config`. Encryption binds a text to its field
 * (shared/config/encryption.ts), so a field keeps its name wherever the stored text is kept:
 * through a rotation, through a change of the case of a header, and when webhooks change their
 * order.
 */

export interface SecretField {
  kind: 'source' | 'destination' | 'system';
  /** of the entry */
  id: string;
  /** names from the outside to the inside, as `['webhooks', 'whk_1', 'url']` */
  path: readonly string[];
}

const ofDestination = (id: string, ...path: string[]): SecretField => ({
  kind: 'destination',
  id,
  path,
});
const ofWebhook = (id: string, webhook: string, ...path: string[]) =>
  ofDestination(id, 'webhooks', webhook, ...path);

/** @param id of the destination; `webhook` is the id of one of its webhooks */
export const secretFields = {
  /** the current and the previous shared secret */
  sharedSecret: (id: string) => ofDestination(id, 'secrets'),
  /** the current and the previous private key */
  ed25519: (id: string) => ofDestination(id, 'ed25519'),
  /** the login at this proxy */
  proxy: (id: string, address: string) => ofDestination(id, 'proxy', address),
  url: (id: string, webhook: string) => ofWebhook(id, webhook, 'url'),
  header: (id: string, webhook: string, name: string) =>
    ofWebhook(id, webhook, 'headers', name.toLowerCase()),
  /** @param name as `mapAuth` names it */
  auth: (id: string, webhook: string, name: string) => ofWebhook(id, webhook, 'auth', name),
  tlsKey: (id: string, webhook: string) => ofWebhook(id, webhook, 'tls'),
};

export function writeKeyField(sourceId: string): SecretField {
  return { kind: 'source', id: sourceId, path: ['writeKeys'] };
}

type Convert = (sealed: Encrypted, field: SecretField) => Encrypted;

/** Returns the destination with each encrypted text converted. */
export function mapSecrets(destination: Destination, convert: Convert): Destination {
  const { id, webhooks, secrets, signature, proxy } = destination;
  const shared = (sealed: Encrypted) => convert(sealed, secretFields.sharedSecret(id));
  return {
    ...destination,
    webhooks: webhooks.map((webhook) => mapWebhook(id, webhook, convert)),
    ...defined({
      secrets: secrets && {
        ...secrets,
        current: shared(secrets.current),
        ...defined({ previous: secrets.previous && shared(secrets.previous) }),
      },
      signature:
        signature && mapSignature(signature, (sealed) => convert(sealed, secretFields.ed25519(id))),
      proxy: proxy && {
        ...proxy,
        ...defined({
          userInfo:
            proxy.userInfo && convert(proxy.userInfo, secretFields.proxy(id, proxy.address)),
        }),
      },
    }),
  };
}

function mapWebhook(id: string, webhook: EncryptedWebhook, convert: Convert): EncryptedWebhook {
  const { id: own, url, headers, auth, tls } = webhook;
  return {
    ...webhook,
    url: convert(url, secretFields.url(id, own)),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        convert(value, secretFields.header(id, own, name)),
      ]),
    ),
    ...defined({
      auth:
        auth && mapAuth(auth, (sealed, name) => convert(sealed, secretFields.auth(id, own, name))),
      tls: tls && mapTls(tls, (sealed) => convert(sealed, secretFields.tlsKey(id, own))),
    }),
  };
}
