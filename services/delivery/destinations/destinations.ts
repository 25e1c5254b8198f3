import { defined } from '../../../shared/collections/defined';
import { type ConfigView, type Entry } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { MAILBOX_PREFIX } from '../../../shared/model/alert-mail';
import {
  DEFAULT_SHARDS,
  type Destination,
  type Encrypted,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { urlHash } from '../../../shared/model/delivery';
import { mapAuth, mapSignature, mapTls } from '../../../shared/model/endpoint-auth';
import { prepareSignatures } from '../../../shared/model/custom-signatures';
import { type SecretField, secretFields } from '../../../shared/model/secret-fields';
import { prepareSecrets, type SigningSecrets } from '../../../shared/model/sign';
import {
  checkStaticHeaders,
  checkWebhookUrl,
  isOwnHeader,
  USER_AGENT,
  requestTarget,
} from '../../../shared/model/webhook-request';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Proxies } from '../http/proxies';
import { secretTexts } from '../http/redact';
import { type Endpoint, type Lookup } from './endpoint';
import { prepareAuth } from './endpoint-auth';

/**
 * Resolves destinations to their current, decrypted form. Each request looks its destination up, so
 * that a rotated secret or a corrected URL also applies to waiting deliveries. Decryption, URL
 * parsing and key preparation run once per version.
 */

export class Destinations {
  readonly #opened = new Map<string, { entry: Entry<Destination>; lookup: Lookup }>();

  constructor(
    private readonly config: Pick<ConfigView, 'destination' | 'isUnreadable'>,
    private readonly encryptor: Encryptor,
    private readonly log: Log,
    /** default: none, for all destinations */
    private readonly proxies?: Proxies,
  ) {}

  /** Returns the last look-up of a destination; undefined: none yet. */
  lastLookup(destinationId: string): Lookup | undefined {
    return this.#opened.get(destinationId)?.lookup;
  }

  lookup(destinationId: string): Lookup {
    if (this.config.isUnreadable('destination', destinationId)) return { kind: 'unreadable' };
    const entry = this.config.destination(destinationId);
    if (!entry) {
      this.#opened.delete(destinationId);
      return { kind: 'deleted' };
    }
    const known = this.#opened.get(destinationId);
    // Versions may come again, if `config` was cut.
    if (known?.entry === entry) return known.lookup;
    const lookup = this.#openOrHold(entry.data, entry.version);
    this.#opened.set(destinationId, { entry, lookup });
    return lookup;
  }

  /** One destination that this build cannot use must not end the process, which sends to all. */
  #openOrHold(destination: Destination, version: number): Lookup {
    try {
      return this.#open(destination, version);
    } catch (error) {
      const reason = messageOf(error);
      this.log.error({ destination: destination.id, reason }, 'destination.unusable');
      return { kind: 'unreadable' };
    }
  }

  #open(destination: Destination, version: number): Lookup {
    const { id, enabled, paused, request: { gzipAbove } = {} } = destination;
    let why: string | undefined;
    const open: Open = (sealed, field) => {
      const opened = this.encryptor.decrypt(sealed, field);
      why ??= opened.why;
      return opened.text ?? '';
    };
    const proxy = this.proxies?.of(destination.proxy, (userInfo, address) =>
      open(userInfo, secretFields.proxy(id, address)),
    );
    const webhooks = destination.webhooks.map((webhook) => ({
      ...endpointOf(destination, version, webhook, open),
      ...defined({ proxy }),
    }));
    const endpoints = [...webhooks, ...mailboxesOf(destination, version)];
    const shared = secretFields.sharedSecret(id);
    const secrets =
      destination.secrets && secretsOf(destination.secrets, (sealed) => open(sealed, shared));
    const ed25519 = secretFields.ed25519(id);
    const signature =
      destination.signature &&
      mapSignature(destination.signature, (sealed) => open(sealed, ed25519));
    if (why === undefined) {
      this.#reportIgnored(destination);
      return {
        kind: 'open',
        version,
        destination: {
          enabled,
          paused,
          endpoints,
          secrets: secrets && prepareSecrets(secrets),
          ...defined({
            plan: destination.retry,
            signatures: signature ? prepareSignatures(signature, secrets) : undefined,
            gzipAbove,
          }),
        },
      };
    }
    this.log.error({ destination: id, reason: why }, 'destination.undecryptable');
    return { kind: 'sealed', version, why };
  }

  /**
   * Logs the stored headers that are not sent, because Waypost sets headers with these names
   * itself.
   */
  #reportIgnored({ id, webhooks }: Destination): void {
    const ignored = webhooks.flatMap(({ headers }) => Object.keys(headers).filter(isOwnHeader));
    if (ignored.length > 0) {
      this.log.warn({ destination: id, names: [...new Set(ignored)] }, 'headers.ignored');
    }
  }
}

/**
 * Decrypts a text of this destination. Returns an empty text on failure, and then nothing is sent
 * at all.
 */
type Open = (sealed: Encrypted, field: SecretField) => string;

function endpointOf(
  destination: Destination,
  version: number,
  webhook: EncryptedWebhook,
  open: Open,
): Endpoint {
  const {
    id: owner,
    shards = DEFAULT_SHARDS,
    maxPerSecond,
    batch,
    retry: { timeoutMs, on } = {},
  } = destination;
  const url = open(webhook.url, secretFields.url(owner, webhook.id));
  const hash = urlHash(webhook.id, url);
  const sendable = Object.entries(webhook.headers).filter(([name]) => !isOwnHeader(name));
  const headers = Object.fromEntries(
    sendable.map(([name, value]) => [
      name,
      open(value, secretFields.header(owner, webhook.id, name)),
    ]),
  );
  const base = {
    id: webhook.id,
    hash,
    lane: `${owner}/${hash}`,
    destinationId: owner,
    destinationVersion: version,
    shards,
    ...defined({
      maxPerSecond,
      timeoutMs,
      retriedStatuses: on ? new Set(on) : undefined,
      batch,
      disabled: webhook.disabled === undefined ? undefined : (true as const),
      enables: webhook.enables,
    }),
    origin: webhook.origin,
    path: '/',
    staticHeaders: [],
    secrets: [],
  };
  const checked = checkWebhookUrl(url);
  if (!checked.ok) return { ...base, problem: checked.problem };
  const [bad] = checkStaticHeaders(headers);
  if (bad) return { ...base, problem: `header ${bad.name}: ${bad.problem}` };
  const { origin } = checked.url;
  const path = requestTarget(url);
  const {
    headers: authHeaders,
    secrets: others,
    ...auth
  } = prepareAuth(openAuth(owner, webhook, open), owner);
  const secrets = secretTexts(path, [...Object.entries(headers).flat(), ...authHeaders], others);
  const isUserAgent = ([name]: [string, string]) => name.toLowerCase() === USER_AGENT;
  const added = Object.entries(headers).filter((header) => !isUserAgent(header));
  const staticHeaders = [...added.flat(), ...authHeaders];
  const endpoint: Endpoint = { ...base, origin, path, staticHeaders, secrets };
  if (Object.keys(auth).length > 0) endpoint.auth = auth;
  const userAgent = Object.entries(headers).find(isUserAgent)?.[1];
  if (userAgent !== undefined) endpoint.userAgent = userAgent;
  return endpoint;
}

function openAuth(owner: string, { id, auth, tls }: EncryptedWebhook, open: Open) {
  return {
    auth: auth && mapAuth(auth, (sealed, name) => open(sealed, secretFields.auth(owner, id, name))),
    tls: tls && mapTls(tls, (sealed) => open(sealed, secretFields.tlsKey(owner, id))),
  };
}

/**
 * Returns the addresses that alerts go to by e-mail. A delivery for one of them excludes
 * all other endpoints.
 */
function mailboxesOf(
  { id: owner, alerts, shards = DEFAULT_SHARDS }: Destination,
  version: number,
): Endpoint[] {
  return (alerts?.email ?? []).map((address) => {
    const origin = `${MAILBOX_PREFIX}${address}`;
    const hash = urlHash(origin, origin);
    const lane = `${owner}/${hash}`;
    return {
      id: origin,
      hash,
      lane,
      destinationId: owner,
      destinationVersion: version,
      shards,
      origin,
      path: '',
      staticHeaders: [],
      secrets: [],
    };
  });
}

function secretsOf(
  secrets: NonNullable<Destination['secrets']>,
  open: (sealed: Encrypted) => string,
): SigningSecrets {
  const { current, previous, overlapUntil, switchAt } = secrets;
  return {
    current: open(current),
    ...defined({
      previous: previous === undefined ? undefined : open(previous),
      overlapUntil,
      switchAt,
    }),
  };
}
