import { type Alerts, type Destination, type Operations } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { checkStaticHeaders, checkWebhookUrl } from '../../../shared/model/webhook-request';
import {
  type AuthDraft,
  authDraft,
  authOf,
  authProblems,
  type AuthType,
  NO_SECRET,
  originOf,
  type SecretDraft,
  secretOf,
  type TlsDraft,
  tlsDraft,
  tlsOf,
  tlsProblems,
  tokenOriginOf,
} from './auth-draft';
import { text } from '../texts';

const words = text.endpoint.webhookDraft;
const AUTH_TYPES: Record<AuthType, string> = text.signing.authSection.types;

/** One URL of a destination or of the alerts while somebody edits it. Pure. */

export interface HeaderDraft {
  name: string;
  value: string;
  /** its value is stored, and stays unless the user enters another */
  kept: boolean;
}

export interface WebhookDraft {
  id?: string;
  url: string;
  headers: HeaderDraft[];
  /** absent: none */
  auth?: AuthDraft;
  tls?: TlsDraft;
  /** the origins that the stored secrets were set for */
  stored?: { origin?: string; tokenOrigin?: string };
  /** the stored secrets that the user has given up, in words */
  dropped?: string[];
  /** of alerts only */
  format?: Alerts['webhooks'][number]['format'];
}

type Given = Operations['POST /destinations']['body']['webhooks'][number];

export const MAX_WEBHOOKS = 5;

/** The API never returns secrets and header values: they stay as stored. */
export function webhookDrafts(webhooks: Destination['webhooks']): WebhookDraft[] {
  return webhooks.map(({ id, url, headers, auth, tls }) => {
    const [origin, authentication] = [originOf(url ?? ''), auth ? authDraft(auth) : undefined];
    const tokenOrigin = tokenOriginOf(authentication);
    return {
      id,
      url: url ?? '',
      headers: Object.keys(headers).map((name) => ({ name, value: '', kept: true })),
      ...defined({
        auth: authentication,
        tls: tls ? tlsDraft(tls) : undefined,
      }),
      stored: defined({
        origin,
        tokenOrigin,
      }),
    };
  });
}

/** Converts a webhook to the API's format. */
export function webhookOf({ id, url, headers, auth, tls }: WebhookDraft): Given {
  const tlsFields = tls && tlsOf(tls);
  return {
    ...defined({ id }),
    url,
    headers: Object.fromEntries(headers.map((header) => [header.name, secretOf(header)])),
    ...defined({
      auth: auth ? authOf(auth) : undefined,
      tls: tlsFields || undefined,
    }),
  };
}

/**
 * Says why the stored values of headers cannot be kept; undefined if they can. Secrets must not go
 * to another origin than the one they were set for.
 * @param proxyChanges a new proxy would see them
 */
export function headersLost(
  { url, stored }: WebhookDraft,
  proxyChanges = false,
): string | undefined {
  if (proxyChanges) return words.proxyChanges;
  const origin = originOf(url);
  const moves = origin !== undefined && stored?.origin !== undefined && origin !== stored.origin;
  return moves ? words.urlChanges : undefined;
}

/**
 * The same for secrets that the token endpoint gets too: the secrets of the authentication, and the
 * private key.
 */
export function secretsLost(webhook: WebhookDraft, proxyChanges = false): string | undefined {
  const moves = tokenOriginOf(webhook.auth) !== webhook.stored?.tokenOrigin;
  return headersLost(webhook, proxyChanges) ?? (moves ? words.tokenUrlChanges : undefined);
}

/**
 * Gives up the stored secrets that cannot be kept, and what is nothing without them. All else
 * stays, and what the user has entered.
 */
export function withoutLost(webhook: WebhookDraft, proxyChanges = false): WebhookDraft {
  const [headerLost, secretLost] = [
    headersLost(webhook, proxyChanges) !== undefined,
    secretsLost(webhook, proxyChanges) !== undefined,
  ];
  const { auth, tls } = webhook;
  const headers = headerLost ? webhook.headers.filter(isKept) : [];
  const isAuthLost = secretLost && auth !== undefined && isKept(auth.secret);
  const params = secretLost ? (auth?.params.filter(({ secret }) => isKept(secret)) ?? []) : [];
  const isKeyLost = secretLost && tls !== undefined && tls.certificate !== '' && isKept(tls.key);
  const dropped = [
    ...headers.map(({ name }) => words.lostHeader(name)),
    ...(isAuthLost ? [words.lostAuth(AUTH_TYPES[auth.type])] : []),
    ...(isAuthLost ? [] : params.map(({ name }) => words.lostParameter(name))),
    ...(isKeyLost ? [words.lostCertificate] : []),
  ];
  if (dropped.length === 0) return webhook;
  const { auth: _, ...others } = webhook;
  const keptAuth =
    auth && !isAuthLost
      ? { ...auth, params: auth.params.filter((param) => !params.includes(param)) }
      : undefined;
  return {
    ...others,
    headers: webhook.headers.filter((header) => !headers.includes(header)),
    ...defined({
      auth: keptAuth,
      tls: isKeyLost ? { ...tls, certificate: '', key: NO_SECRET, notAfter: null } : tls,
    }),
    dropped: [...(webhook.dropped ?? []), ...dropped],
  };
}

/** Returns whether it is stored, and the user has entered no other. */
function isKept({ value, kept }: SecretDraft): boolean {
  return kept && value === '';
}

/** Validates URLs. Returns a sentence by API field, such as `webhooks/0/auth/token`. */
export function webhookProblems(
  webhooks: readonly WebhookDraft[],
  proxyChanges = false,
): Map<string, string> {
  const problems = new Map<string, string>();
  webhooks.forEach((webhook, i) => {
    const at = (field: string, problem: string | undefined) => {
      if (problem !== undefined) problems.set(`webhooks/${i}/${field}`, problem);
    };
    at('url', urlProblem(webhook.url));
    const lost = headersLost(webhook, proxyChanges);
    webhook.headers.forEach((header, j) =>
      at(`headers/${j}`, headerProblem(header, webhook.headers, { at: j, lost })),
    );
    const secretLost = secretsLost(webhook, proxyChanges);
    const { auth, tls } = webhook;
    for (const [field, problem] of auth ? authProblems(auth, secretLost) : []) {
      at(`auth/${field}`, problem);
    }
    for (const [field, problem] of tls ? tlsProblems(tls, secretLost) : []) {
      at(`tls/${field}`, problem);
    }
  });
  return problems;
}

/** Validates a URL with the rules of the API while the user types it. */
export function urlProblem(url: string): string | undefined {
  if (url === '') return words.enterUrl;
  const check = checkWebhookUrl(url);
  return check.ok ? undefined : words.problem(check.problem);
}

function headerProblem(
  header: HeaderDraft,
  all: HeaderDraft[],
  { at, lost }: { at: number; lost: string | undefined },
): string | undefined {
  if (header.name === '') return words.nameHeader;
  const twice =
    all.findIndex(({ name }) => name.toLowerCase() === header.name.toLowerCase()) !== at;
  if (twice) return words.alreadyExists(header.name);
  const problem = checkStaticHeaders({ [header.name]: header.value })[0]?.problem;
  if (problem !== undefined) return words.problem(problem);
  if (header.value !== '') return undefined;
  if (!header.kept) return words.enterValue;
  return lost === undefined ? undefined : words.enterAgain(lost);
}
