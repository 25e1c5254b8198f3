import { type AuthFields, isKeepValue } from '../../../shared/api/endpoint-auth';
import { defined } from '../../../shared/collections/defined';
import { type Auth, authHeaderName, mapAuth } from '../../../shared/model/endpoint-auth';
import { type Encrypted } from '../../../shared/model/config';
import {
  type ChangeContext,
  isAuth,
  NOTHING_TO_KEEP,
  type RawAuth,
  secretChange,
  type StoredWebhook,
  type WebhookError,
} from './stored-webhook';

/**
 * The authentication of a URL: which stored secrets a request may keep, their encryption, and the
 * API view.
 */

/**
 * Returns the errors that the schema of one field cannot find. @param given as sent, with any
 * mistakes
 */
export function authErrors(
  { url, auth, headers }: { url?: string | undefined; auth?: unknown; headers: object },
  match: StoredWebhook | undefined,
  around: ChangeContext,
): WebhookError[] {
  if (!isAuth(auth)) return [];
  const header = authHeaderName(auth);
  const twice = Object.keys(headers).find((name) => name.toLowerCase() === header);
  const errors = keptFields(auth).flatMap((field): WebhookError[] => {
    const problem = isStored(auth, field, match)
      ? secretChange({ url, auth }, match, around)
      : NOTHING_TO_KEEP;
    return problem === undefined ? [] : [[['auth', ...field.split('/')], problem]];
  });
  if (twice === undefined) return errors;
  return [
    [['auth'], `sets the header ${twice}, which is also in headers. Remove one of them`],
    ...errors,
  ];
}

/** Returns the fields with `{"keep": true}`. */
function keptFields({ params, ...rest }: RawAuth): string[] {
  const inParams = typeof params === 'object' && params !== null ? Object.entries(params) : [];
  const all = [
    ...Object.entries(rest),
    ...inParams.map(([name, value]) => [`params/${name}`, value] as const),
  ];
  return all.filter(([, value]) => isKeepValue(value)).map(([field]) => field);
}

function isStored(
  { type }: RawAuth,
  field: string,
  match: StoredWebhook | undefined,
): match is StoredWebhook {
  const stored = match?.sealed.auth;
  return stored?.type === type && secretsIn(stored).has(field);
}

function secretsIn(auth: Auth<Encrypted>): Map<string, Encrypted> {
  const found = new Map<string, Encrypted>();
  mapAuth(auth, (secret, field) => found.set(field, secret));
  return found;
}

/** @param fields validated by the schema and by `authErrors` */
export function sealAuth(
  fields: AuthFields,
  stored: Auth<Encrypted> | undefined,
  /** @param field as `mapAuth` names it */
  encrypt: (text: string, field: string) => Encrypted,
): Auth<Encrypted> {
  const kept = stored ? secretsIn(stored) : new Map<string, Encrypted>();
  return mapAuth(shapeOf(fields), (value, field) =>
    // `authErrors` has refused a value to keep that is not stored.
    isKeepValue(value) ? (kept.get(field) ?? encrypt('', field)) : encrypt(value, field),
  );
}

/** Returns the stored form, in which an absent field is missing. */
function shapeOf(fields: AuthFields) {
  if (fields.type !== 'oauth2') return fields;
  const { type, tokenUrl, clientId, clientSecret, scope, audience, params, clientAuth } = fields;
  return {
    type,
    tokenUrl,
    tokenOrigin: new URL(tokenUrl).origin,
    clientId,
    clientSecret,
    ...defined({
      scope: scope ?? undefined,
      audience: audience ?? undefined,
      params: params ?? undefined,
      clientAuth: clientAuth ?? undefined,
    }),
  };
}

const KEEP = { keep: true as const };

/** @param tokenUrl the URL to show, or null if it was lost with its key */
export function authView(auth: Auth<Encrypted> | undefined, tokenUrl: string | null) {
  if (!auth) return null;
  const view = mapAuth(auth, () => KEEP);
  if (view.type !== 'oauth2') return view;
  const {
    type,
    clientId,
    clientSecret,
    scope = null,
    audience = null,
    params = null,
    clientAuth = 'basic',
  } = view;
  return { type, tokenUrl, clientId, clientSecret, scope, audience, params, clientAuth };
}
