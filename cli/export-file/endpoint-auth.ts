import { z } from 'zod';
import { type Destination, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { HIDDEN } from './hidden';

/**
 * The authentication and TLS settings of a URL, and the signatures of a destination, in an export
 * file. An import keeps stored settings that the file lacks. Secrets are `***`. Each system makes
 * its own Ed25519 keys.
 */

type Body = Operations['POST /destinations']['body'];
type Webhook = Body['webhooks'][number];
type Shown = Destination['webhooks'][number];

const optional = <T extends z.ZodType>(type: T) => type.nullable().default(null);

export const webhookAuth = {
  auth: z
    .looseObject({
      type: z.string(),
      params: z.record(z.string(), z.string()).nullable().optional(),
    })
    .nullable()
    .optional(),
  tls: z
    .strictObject({
      certificate: optional(z.string()),
      key: optional(z.string()),
      ca: optional(z.string()),
    })
    .nullable()
    .optional(),
};
export const signature = z
  .strictObject({
    xSignature: z.boolean().default(true),
    ed25519: z.boolean().default(false),
    custom: optional(
      z.strictObject({
        header: z.string(),
        algorithm: z.enum(['sha1', 'sha256', 'sha512']),
        encoding: z.enum(['hex', 'base64']),
        prefix: optional(z.string()),
      }),
    ),
  })
  .nullable()
  .optional();
export type FileSignature = z.output<typeof signature>;
export type FileAuth = {
  [Name in keyof typeof webhookAuth]?: z.output<(typeof webhookAuth)[Name]>;
};

/** In the secrets file: for all URLs of the destination. `key` is PEM. */
export const authSecrets = {
  auth: z
    .looseObject({ params: z.record(z.string(), z.string()).optional() })
    .catchall(z.union([z.string(), z.record(z.string(), z.string())]))
    .optional(),
  tls: z.strictObject({ key: z.string().min(1) }).optional(),
};
export interface AuthSecrets {
  auth?: Record<string, unknown> | undefined;
  tls?: { key: string } | undefined;
}

/** @param lost called if a token URL was lost with its key; throws */
export function authToFile({ auth, tls }: Shown, lost: () => never): FileAuth {
  if (auth?.type === 'oauth2' && auth.tokenUrl === null) lost();
  return {
    auth: auth && (hidden(auth) as NonNullable<FileAuth['auth']>),
    tls: tls && { certificate: tls.certificate, key: tls.key && HIDDEN, ca: tls.ca },
  };
}

/** Replaces each `{"keep": true}`. */
function hidden(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('keep' in value) return HIDDEN;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, hidden(part)]));
}

/**
 * Returns the settings of a URL in the form that the API takes.
 * @param here the URL here, whose settings stay if the file lacks them
 * @param keeps false: the API keeps no stored secret, because the proxy changes
 * @param missing receives the name of each secret that is neither given nor stored
 */
export function withSecrets(
  file: FileAuth & { url: string },
  here: Shown | undefined,
  {
    keeps,
    secrets,
    missing,
  }: { keeps: boolean; secrets: AuthSecrets | undefined; missing: string[] },
): Pick<Webhook, 'auth' | 'tls'> {
  const { origin } = new URL(file.url);
  const note = (field: string) => void missing.push(`${field} of ${origin}`);
  const wanted = {
    ...(here ? authToFile(here, () => undefined as never) : undefined),
    ...given(file),
  };
  // The API keeps the secrets of a URL only for the same token endpoint.
  const stays = keeps && tokenOrigin(wanted.auth) === tokenOrigin(here?.auth) ? here : undefined;
  const stored = stays?.auth?.type === wanted.auth?.type ? stays?.auth : undefined;
  const before = missing.length;
  const auth =
    wanted.auth && filled(wanted.auth, { stored, given: secrets?.auth, path: 'auth', note });
  return {
    ...defined({
      // A token URL that was lost with its key is null, and the API refuses it. It also refuses a
      // part of the secrets.
      auth: auth && missing.length === before ? (auth as Webhook['auth']) : undefined,
    }),
    ...tlsOf(wanted, stays, { key: secrets?.tls?.key, note }),
  };
}

/** Returns the fields that the file has. */
function given({ auth, tls }: FileAuth): FileAuth {
  return defined({
    auth,
    tls,
  });
}

/**
 * Returns the origin of the token endpoint; undefined: there is none, or it was lost with its key.
 */
function tokenOrigin(auth: FileAuth['auth'] | Shown['auth']): string | undefined {
  const url = auth?.type === 'oauth2' && 'tokenUrl' in auth ? auth.tokenUrl : undefined;
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

interface Sources {
  /** the view here */
  stored: unknown;
  given: unknown;
  path: string;
  note: (field: string) => void;
}

/** Replaces each `***` by its secret, or keeps the stored one. */
function filled(wanted: object, { stored, given, path, note }: Sources): object {
  const parts = Object.entries(wanted).flatMap(
    ([name, value]: [string, unknown]): [string, unknown][] => {
      const [has, gives] = [memberOf(stored, name), memberOf(given, name)];
      const at = `${path}.${name}`;
      if (typeof value === 'object' && value !== null) {
        return [[name, filled(value, { stored: has, given: gives, path: at, note })]];
      }
      if (value !== HIDDEN) return value === null ? [] : [[name, value]];
      if (gives !== undefined) return [[name, gives]];
      if (typeof has === 'object' && has !== null && 'keep' in has) return [[name, has]];
      note(at);
      return [];
    },
  );
  return Object.fromEntries(parts);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function tlsOf(
  { tls }: FileAuth,
  stays: Shown | undefined,
  { key: given, note }: { key: string | undefined; note: (field: string) => void },
): Pick<Webhook, 'tls'> {
  if (!tls) return {};
  const stored = stays?.tls;
  const kept = stored && stored.certificate === tls.certificate ? stored.key : null;
  const key = tls.key === HIDDEN ? (given ?? kept) : tls.key;
  if (tls.key === HIDDEN && key === null) {
    note('tls.key');
    return tls.ca === null ? {} : { tls: { ca: tls.ca } };
  }
  return { tls: { certificate: tls.certificate, key, ca: tls.ca } };
}

/**
 * Returns the authentication settings of a URL here as in the file, as far as the file has them.
 */
export function sameAuth(wanted: FileAuth | undefined, shown: Shown): FileAuth {
  const { auth, tls } = authToFile(shown, () => undefined as never);
  return defined({
    auth: wanted?.auth !== undefined ? (sorted(auth) as FileAuth['auth']) : undefined,
    tls: wanted?.tls !== undefined ? tls : undefined,
  });
}

/** Returns the settings of the file in the form of `sameAuth`. */
export function wantedAuth({ auth, tls }: FileAuth): FileAuth {
  return defined({
    auth: auth !== undefined ? (sorted(auth) as FileAuth['auth']) : undefined,
    tls,
  });
}

/** Leaves out absent fields, and sorts the others, so that two texts can be compared. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).filter(([, part]) => part !== null);
  return Object.fromEntries(
    parts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, part]) => [name, sorted(part)]),
  );
}

/** Returns the signatures without the parts that are absent, for a new destination. */
export function signatureBody(wanted: FileSignature): Pick<Body, 'signature'> {
  if (!wanted) return {};
  const { custom, ...rest } = wanted;
  return {
    signature: {
      ...rest,
      ...defined({ custom: custom || undefined }),
    },
  };
}
