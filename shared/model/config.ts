import { type Audience, type ComputedTrait } from './audience-definition';
import { type BatchSettings } from './batch';
import { DESTINATION_FIELDS, type StoredFields } from './destination-fields';
import { type Auth, type EndpointTls, type SignatureSettings } from './endpoint-auth';
import { type RetryPlan } from './retry-plan';
import { type RequestSettings } from './request-settings';

/**
 * The entries of `config`: sources, destinations, audiences and computed traits
 * (audience-definition.ts), and tokens of the control API. Only control writes them. Secrets,
 * header values and URLs are encrypted (shared/config/encryption.ts) and decrypted only when they
 * are used.
 */

export interface WriteKey {
  /** its hash, by which ingest finds it: `sha256:` and base64url */
  key: string;
  /** the key itself, which control can decrypt and show */
  sealed: Encrypted;
  /** ms since 1970 until which a rotated key still works; absent: the present key */
  until?: number;
}

export interface Source {
  id: string;
  name: string;
  enabled: boolean;
  /** the present one first */
  writeKeys: WriteKey[];
  /** names of track events to drop; absent: none */
  blockedEvents?: string[];
  /** absent: the installation's defaults */
  limits?: SourceLimits;
  /** absent: `server` */
  trust?: Trust;
  /**
   * id of the audience or computed trait whose messages it sends; it has no write keys then, and is
   * created and deleted with it
   */
  of?: string;
  createdAt: string;
  updatedAt: string;
}

/**
 * Limits of one source over all ingest processes together. An absent field takes the installation's
 * default.
 * @see services/ingest/rate-limits.ts
 */
export interface SourceLimits {
  /** calls */
  maxPerSecond?: number;
  /** bytes of bodies, decompressed */
  maxBytesPerSecond?: number;
  /** ms of both rates that an idle source may save up */
  burstMs?: number;
}

/**
 * `server`: only the customer's own servers know the write key. `browser`: the write key is public,
 * so that anybody can send with it. Audiences ignore such a source by default, since it could claim
 * any user's id.
 */
export const TRUSTS = ['server', 'browser'] as const;
export type Trust = (typeof TRUSTS)[number];

/** Text encrypted for one field of one entry: `keyId.iv.ciphertext.tag`, each base64url. */
export type Encrypted = string;

export interface EncryptedWebhook {
  id: string;
  url: Encrypted;
  /** scheme, host and port of the URL: not a secret, shown in lists and logs */
  origin: string;
  headers: Record<string, Encrypted>;
  auth?: Auth<Encrypted>;
  tls?: EndpointTls<Encrypted>;
  /** nothing is sent to it; absent: it is on */
  disabled?: DisabledWebhook;
  /**
   * how often it was switched on again or got another URL: what its receiver said before holds no
   * longer; absent: 0
   */
  enables?: number;
}

/**
 * `gone`: its receiver answered 410; `asked`: its receiver asked for it; `user`: somebody switched
 * it off.
 */
export const DISABLED_REASONS = ['gone', 'asked', 'user'] as const;

export interface DisabledWebhook {
  /** ISO 8601 */
  at: string;
  reason: (typeof DISABLED_REASONS)[number];
}

/** In place of a secret in a request: Waypost makes one, and shows it in the response. */
export const GENERATE_SECRET = 'generate';

export interface EncryptedSecrets {
  current: Encrypted;
  /** the previous secret, while a rotation overlaps */
  previous?: Encrypted;
  /** ms since 1970; until then both secrets sign `webhook-signature` */
  overlapUntil?: number;
  /** ms since 1970; from then on the current secret signs `X-Signature` */
  switchAt?: number;
}

/** The egress proxy of a destination. */
export interface StoredProxy {
  /** scheme, host and port, or `none`: not a secret */
  address: string;
  /** `user:password`; absent: no login */
  userInfo?: Encrypted;
}

export interface Destination extends StoredFields {
  id: string;
  name: string;
  type: 'webhooks';
  /** ids of the sources it is connected to */
  sources: string[];
  webhooks: EncryptedWebhook[];
  secrets?: EncryptedSecrets;
  signature?: SignatureSettings<Encrypted>;
  /** absent: the default POST */
  request?: RequestSettings;
  /** absent: each event is sent alone */
  batch?: BatchSettings;
  /** absent: as the settings say */
  retry?: RetryPlan;
  /** absent: as WAYPOST_EGRESS_PROXY says */
  proxy?: StoredProxy;
  /** only of Waypost's own destination (ALERTS_ID) */
  alerts?: AlertSettings;
  /** Waypost has switched it off because it failed; absent once somebody switches it on */
  switchedOff?: true;
  createdAt: string;
  updatedAt: string;
}

export const DEFAULT_SHARDS = DESTINATION_FIELDS.shards.default;

/**
 * The id of Waypost's own destination, which alerts are sent to. Delivery treats it like any other,
 * so signatures, retries, the address guard and the history apply to alerts too.
 */
export const ALERTS_ID = 'alerts';

/** Formats of an alert's body: Waypost's own, and those that the receivers of these names take. */
export const ALERT_FORMATS = ['default', 'slack', 'teams', 'discord', 'pagerduty'] as const;
export type AlertFormat = (typeof ALERT_FORMATS)[number];

/** Settings of the alerts. */
export interface AlertSettings {
  /** ms without a success, and with failures, after which a destination counts as failing */
  failingForMs: number;
  /** shortest time between two alerts of dead letters for one destination, ms */
  deadLettersEveryMs: number;
  /**
   * ms of failing after which a destination is switched off, unless it has its own setting; absent:
   * never
   */
  switchOffAfterMs?: number;
  /** addresses that each get every alert by e-mail */
  email?: string[];
  /** webhook's id → format of its body; absent: `default` */
  formats?: Record<string, AlertFormat>;
}

const MINUTE_MS = 60_000;
export const DEFAULT_ALERTS: AlertSettings = {
  failingForMs: 30 * MINUTE_MS,
  deadLettersEveryMs: 60 * MINUTE_MS,
};

export const ROLES = ['admin', 'operator', 'read_only'] as const;
export type Role = (typeof ROLES)[number];

/** An identity for the control API. Only its holder knows the token itself. */
export interface Token {
  id: string;
  name: string;
  role: Role;
  /** ISO 8601; absent: it does not expire */
  expiresAt?: string;
  /** restrict the role, such as `events:read`; absent: all that the role allows */
  rights?: string[];
  /** SHA-256 of the token, base64url. Tokens are 256 random bits, so no slower hash is needed. */
  hash: string;
  createdAt: string;
  updatedAt: string;
}

/** A single entry, written into an empty `config`. */
export interface SystemEntry {
  id: typeof SYSTEM_ID;
  /** a known text, encrypted: shows whether a process has the key of the other entries */
  canary: Encrypted;
}
export const SYSTEM_ID = 'system';

export interface Kinds {
  source: Source;
  destination: Destination;
  token: Token;
  audience: Audience;
  computed_trait: ComputedTrait;
  system: SystemEntry;
}
export const KINDS = [
  'source',
  'destination',
  'token',
  'audience',
  'computed_trait',
  'system',
] as const satisfies readonly (keyof Kinds)[];
export type Kind = keyof Kinds;
/**
 * Limit of the entries of a kind, because services hold them in memory (docs/operations/sizing.md
 * has the cost).
 */
export const MAX_ENTRIES = 100_000;
/** Kinds of entries that users create and change. */
export type ApiKind = Exclude<Kind, 'system'>;

/**
 * One record of `config`: the whole entry, never a part. Every reader ignores a record that does
 * not replace its present version, so that two writers cannot overwrite each other unnoticed.
 */
export interface ConfigRecord<K extends Kind = Kind> {
  /** `FORMAT` (record-format.ts) */
  format: number;
  kind: K;
  id: string;
  /** 1, 2, 3 … */
  version: number;
  /** the version that it replaces; 0: none */
  replaces: number;
  /** ISO 8601 */
  at: string;
  /** absent: deleted */
  data?: Kinds[K];
}

export function configKey(kind: Kind, id: string): string {
  return `${kind}:${id}`;
}
