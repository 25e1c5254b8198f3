import { type Destination, type Operations } from '../../../shared/api/operations';
import { compact, defined } from '../../../shared/collections/defined';
import { checkHeaderName, checkWebhookUrl } from '../../../shared/model/webhook-request';
import { text } from '../texts';

const words = text.signing.authDraft;

/** The authentication and the TLS settings of a URL while somebody edits them. Pure. */

type Stored = Destination['webhooks'][number];
type StoredAuth = NonNullable<Stored['auth']>;
type Given = Operations['POST /destinations']['body']['webhooks'][number];
export type AuthType = StoredAuth['type'];

/** A write-only secret. */
export interface SecretDraft {
  /** as entered; empty: the stored one if there is one */
  value: string;
  /** one is stored */
  kept: boolean;
}

export interface ParamDraft {
  name: string;
  secret: SecretDraft;
}

/** The fields of all types, so that another type can be tried and left again. */
export interface AuthDraft {
  type: AuthType;
  /** the one secret that each type has */
  secret: SecretDraft;
  username: string;
  /** of the header */
  name: string;
  tokenUrl: string;
  clientId: string;
  scope: string;
  audience: string;
  clientAuth: 'basic' | 'body';
  params: ParamDraft[];
}

export interface TlsDraft {
  certificate: string;
  key: SecretDraft;
  ca: string;
  /** when the stored certificate expires; null: another one was entered, or there is none */
  notAfter: string | null;
}

export const NO_SECRET: SecretDraft = { value: '', kept: false };
const KEPT: SecretDraft = { value: '', kept: true };
export const NO_TLS: TlsDraft = { certificate: '', key: NO_SECRET, ca: '', notAfter: null };

/** The API's name of each type's secret. */
export const SECRET_FIELDS = {
  basic: 'password',
  bearer: 'token',
  header: 'value',
  oauth2: 'clientSecret',
  pagerduty: 'routingKey',
} as const satisfies Record<AuthType, string>;

const EMPTY: AuthDraft = {
  type: 'bearer',
  secret: NO_SECRET,
  username: '',
  name: '',
  tokenUrl: '',
  clientId: '',
  scope: '',
  audience: '',
  clientAuth: 'basic',
  params: [],
};

/** Changes the type. A secret of another type is not the secret of this one. */
export function withType(before: AuthDraft | undefined, type: AuthType): AuthDraft {
  return { ...(before ?? EMPTY), type, secret: NO_SECRET };
}

export function authDraft(auth: StoredAuth): AuthDraft {
  const base = { ...EMPTY, type: auth.type, secret: KEPT };
  if (auth.type === 'basic') return { ...base, username: auth.username };
  if (auth.type === 'header') return { ...base, name: auth.name };
  if (auth.type !== 'oauth2') return base;
  const params = Object.keys(auth.params ?? {}).map((name) => ({ name, secret: KEPT }));
  const { tokenUrl, clientId, scope, audience, clientAuth } = auth;
  return {
    ...base,
    clientId,
    clientAuth,
    params,
    tokenUrl: tokenUrl ?? '',
    scope: scope ?? '',
    audience: audience ?? '',
  };
}

export function tlsDraft({ certificate, key, ca, notAfter }: NonNullable<Stored['tls']>): TlsDraft {
  return { certificate: certificate ?? '', key: key ? KEPT : NO_SECRET, ca: ca ?? '', notAfter };
}

/** Converts a secret to the API's format. */
export function secretOf({ value, kept }: SecretDraft): string | { keep: true } {
  return kept && value === '' ? { keep: true } : value;
}

export function authOf(draft: AuthDraft): NonNullable<Given['auth']> {
  const secret = secretOf(draft.secret);
  const { type, username, name, tokenUrl, clientId, clientAuth } = draft;
  switch (type) {
    case 'basic':
      return { type, username, password: secret };
    case 'bearer':
      return { type, token: secret };
    case 'header':
      return { type, name, value: secret };
    case 'pagerduty':
      return { type, routingKey: secret };
    case 'oauth2': {
      const [scope, audience] = [draft.scope.trim(), draft.audience.trim()];
      const params = Object.fromEntries(
        draft.params.map((each) => [each.name, secretOf(each.secret)]),
      );
      return {
        type,
        tokenUrl,
        clientId,
        clientSecret: secret,
        clientAuth,
        ...defined({
          scope: scope !== '' ? scope : undefined,
          audience: audience !== '' ? audience : undefined,
          params: draft.params.length > 0 ? params : undefined,
        }),
      };
    }
  }
}

/** @returns undefined if nothing is set. A stored key goes with its certificate. */
export function tlsOf({ certificate, key, ca }: TlsDraft): Given['tls'] {
  const sendsKey = key.value !== '' || (key.kept && certificate.trim() !== '');
  if (certificate.trim() === '' && !sendsKey && ca.trim() === '') return undefined;
  return defined({
    certificate: certificate.trim() !== '' ? certificate : undefined,
    key: sendsKey ? secretOf(key) : undefined,
    ca: ca.trim() !== '' ? ca : undefined,
  });
}

/** @returns undefined if the text is not a URL */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Returns the origin of the token endpoint, which gets secrets as well. */
export function tokenOriginOf(auth: AuthDraft | undefined): string | undefined {
  return auth?.type === 'oauth2' ? originOf(auth.tokenUrl) : undefined;
}

/**
 * Validates a secret. Returns a sentence, or undefined if it is valid.
 * @param lost why a stored one cannot be kept
 */
function secretProblem({ value, kept }: SecretDraft, lost: string | undefined): string | undefined {
  if (value !== '') return undefined;
  if (!kept) return words.enterValue;
  return lost === undefined ? undefined : words.enterAgain(lost);
}

/** Validates the authentication. Returns pairs of an API field below `auth` and a sentence. */
export function authProblems(auth: AuthDraft, lost: string | undefined): [string, string][] {
  const problems = OWN_PROBLEMS[auth.type]?.(auth, lost) ?? [];
  const secret = secretProblem(auth.secret, lost);
  return secret === undefined ? problems : [...problems, [SECRET_FIELDS[auth.type], secret]];
}

type Check = (auth: AuthDraft, lost: string | undefined) => [string, string][];

const OWN_PROBLEMS: Partial<Record<AuthType, Check>> = {
  basic: ({ username }) => {
    if (username === '') return [['username', words.enterUserName]];
    return username.includes(':') ? [['username', words.noColon]] : [];
  },
  header: ({ name }) => {
    const problem = name === '' ? words.enterName : sentence(checkHeaderName(name));
    return problem === undefined ? [] : [['name', problem]];
  },
  oauth2: ({ tokenUrl, clientId, params }, lost) => {
    const url = tokenUrlProblem(tokenUrl);
    return compact([
      url === undefined ? undefined : pair('tokenUrl', url),
      clientId === '' ? pair('clientId', words.enterClientId) : undefined,
      ...params.flatMap(({ name, secret }, i) => {
        const problem = name === '' ? words.nameParameter : secretProblem(secret, lost);
        return problem === undefined ? [] : [pair(`params/${i}`, problem)];
      }),
    ]);
  },
};

function pair(field: string, problem: string): [string, string] {
  return [field, problem];
}

function tokenUrlProblem(url: string): string | undefined {
  if (url === '') return words.enterUrl;
  const check = checkWebhookUrl(url);
  return check.ok ? undefined : sentence(check.problem);
}

function sentence(end: string | undefined): string | undefined {
  return end === undefined ? undefined : words.problem(end);
}

/** Validates the certificate and its key. @param lost why a stored key cannot be kept */
export function tlsProblems(
  { certificate, key }: TlsDraft,
  lost: string | undefined,
): [string, string][] {
  if (certificate.trim() === '') {
    return key.value === '' ? [] : [['certificate', words.enterCertificate]];
  }
  const problem = secretProblem(key, lost);
  return problem === undefined ? [] : [['key', problem]];
}
