import { type Audience, type ComputedTrait } from './audience-definition';
import { type MessageType } from './message';

/**
 * What `config` holds: sources, destinations, audiences and computed traits (audience-definition.ts), and tokens of the control API. Records are written by control alone. Secrets, header values and
 * URLs are sealed (shared/config/encryption.ts) and opened only where they are used.
 */

export interface WriteKey {
  /** the key itself or, beside `sealed`, its hash: `sha256:` and base64url */
  key: string;
  /** the key, which control can open and show. Absent in entries that were written before `config reseal` */
  sealed?: Encrypted;
  /** ms since 1970 until which a rotated key still works; absent: the present key */
  until?: number;
}

export interface Source {
  id: string;
  name: string;
  enabled: boolean;
  /** the present one first */
  writeKeys: WriteKey[];
  /** names of track events that go no further; absent: none */
  blockedEvents?: string[];
  /** absent: the installation's defaults */
  limits?: SourceLimits;
  /** absent: `server` */
  trust?: Trust;
  /** id of the audience or computed trait that is told by it: then it has no write keys, and comes and goes with that */
  of?: string;
  createdAt: string;
  updatedAt: string;
}

/**
 * Limits of one source over all ingest processes together. An absent field takes the installation's default.
 * @see services/ingest/source-limits.ts
 */
export interface SourceLimits {
  /** calls */
  maxPerSecond?: number;
  /** bytes of bodies, inflated */
  maxBytesPerSecond?: number;
  /** ms of both rates that a source may save up while it is quiet */
  burstMs?: number;
}

/**
 * `server`: the write key is known to the customer's own servers. `browser`: the write key is public, so that anybody can
 * send with it; audiences do not believe such a source about users whom it does not own.
 */
export const TRUSTS = ['server', 'browser'] as const;
export type Trust = (typeof TRUSTS)[number];

/** Text encrypted for one destination: `keyId.iv.ciphertext.tag`, each base64url. */
export type Encrypted = string;

export interface EncryptedWebhook {
  id: string;
  url: Encrypted;
  /** scheme, host and port of the URL: not a secret, shown in lists and logs */
  origin: string;
  headers: Record<string, Encrypted>;
}

export interface EncryptedSecrets {
  current: Encrypted;
  /** the one before, while a rotation overlaps */
  previous?: Encrypted;
  /** ms since 1970: until then both sign `webhook-signature` */
  overlapUntil?: number;
  /** ms since 1970: from then on `X-Signature` is made with the current one */
  switchAt?: number;
}

export interface Destination {
  id: string;
  name: string;
  type: 'webhooks';
  /** off: gets nothing, and what waits is cancelled */
  enabled: boolean;
  /** on hold: what comes waits, within its window */
  paused: boolean;
  /** ids of the sources it is connected to */
  sources: string[];
  webhooks: EncryptedWebhook[];
  secrets?: EncryptedSecrets;
  /** absent: all */
  types?: MessageType[];
  /** a condition in CEL (docs/guide/filters.md): what does not match goes no further; absent: all */
  filter?: string;
  maxPerSecond?: number;
  /** over how many shards it is spread; default DEFAULT_SHARDS */
  shards?: number;
  /** ms of failing after which Waypost switches it off; 0: never; absent: as the alerts' settings say */
  switchOffAfterMs?: number;
  /** of Waypost's own destination alone (ALERTS_ID) */
  alerts?: AlertSettings;
  createdAt: string;
  updatedAt: string;
}

export const DEFAULT_SHARDS = 4;

/**
 * The id of Waypost's own destination, which alerts are sent to. To delivery it is one like any other, and so everything
 * that holds for those holds for alerts: signatures, retries, the address guard, the history.
 */
export const ALERTS_ID = 'alerts';

/** When alerts are raised. */
export interface AlertSettings {
  /** ms without a success, and with failures, after which a destination counts as failing */
  failingForMs: number;
  /** at most one alert of dead letters per destination in so many ms */
  deadLettersEveryMs: number;
  /** ms of failing after which a destination is switched off, where it says nothing else; absent: never */
  switchOffAfterMs?: number;
}

const MINUTE_MS = 60_000;
export const DEFAULT_ALERTS: AlertSettings = { failingForMs: 30 * MINUTE_MS, deadLettersEveryMs: 60 * MINUTE_MS };

export const ROLES = ['admin', 'operator', 'read_only'] as const;
export type Role = (typeof ROLES)[number];

/** Who may use the control API. The token itself is known to its holder alone. */
export interface Token {
  id: string;
  name: string;
  role: Role;
  /** ISO 8601; absent: it does not expire */
  expiresAt?: string;
  /** narrow the role, such as `events:read`; absent: all that the role allows */
  rights?: string[];
  /** SHA-256 of the token, base64url: tokens are 256 random bits, nothing slower is needed */
  hash: string;
  createdAt: string;
  updatedAt: string;
}

/** How the rest of `config` is written: one entry, made in a new system or by `config reseal`. */
export interface SystemEntry {
  id: typeof SYSTEM_ID;
  /** a known text, sealed: shows whether a process has the key that sealed the other entries */
  canary: Encrypted;
  /** write keys are written as hash and sealed text */
  writeKeys: 'sealed';
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
export type Kind = keyof Kinds;
/** Kinds of entries that people make and change. */
export type ApiKind = Exclude<Kind, 'system'>;

/**
 * One record of `config`: the whole entry, never a part. A record that does not replace the version at hand is
 * ignored by every reader, so that two writers cannot overwrite each other unseen.
 */
export interface ConfigRecord<K extends Kind = Kind> {
  /** format version */
  format: 1;
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
