import { type TLSSocket } from 'node:tls';
import { type Request } from 'express';
import { Problem } from '../http/problem';
import { type Actor, hasExpired, type Identities, type Identity } from './identities';
import { type Refusals } from './refusals';
import { type Session, type Sessions } from './sessions';
import { type TokenUses } from '../tokens/token-uses';

/**
 * Finds out whose request it is: by a token in the header, or by the session of a browser, whose cookie holds only where the
 * page that sends it is of the same host.
 */

export const SESSION_COOKIE = 'waypost_session';
/** Over TLS: no other host of the same domain can set a cookie of this prefix. Browsers refuse the prefix without TLS. */
export const TLS_SESSION_COOKIE = `__Host-${SESSION_COOKIE}`;
const UNSAFE: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export interface Access {
  identities: Identities;
  sessions: Pick<Sessions, 'begin' | 'read' | 'end'>;
  uses: Pick<TokenUses, 'note'>;
  refusals: Pick<Refusals, 'answerTo'>;
}

/** @throws Problem `unauthorized` */
export function identify(access: Access, req: Request, nowMs: number): Identity {
  const identity = credentialsOf(access, req);
  if (!identity) throw unauthorized(req.get('authorization') !== undefined);
  requireUnexpired(identity, nowMs);
  return identity;
}

/** The identity by the request's token or session, also of a token that has expired. */
export function credentialsOf(access: Access, req: Request): Identity | undefined {
  const header = req.get('authorization');
  return header === undefined ? ofCookie() : ofHeader(header);

  function ofHeader(text: string) {
    const token = /^Bearer +(\S+) *$/i.exec(text)?.[1];
    return token === undefined ? undefined : access.identities.ofToken(token);
  }

  function ofCookie() {
    const session = sessionOf(access, req);
    return session && access.identities.ofSession(session.token, session.mark);
  }
}

/** @throws Problem `unauthorized` for a token that has expired */
export function requireUnexpired(identity: Identity, nowMs: number): void {
  if (!hasExpired(identity, nowMs)) return;
  const at = new Date(identity.expiresAt ?? 0).toISOString();
  throw unauthorized(true, `This token expired at ${at}; ask an administrator for a new one`);
}

/** The session of the request's cookie; undefined where it has none that holds. */
export function sessionOf({ sessions }: Access, req: Request): Session | undefined {
  const cookie = cookieOf(req);
  const host = req.get('host');
  return cookie === undefined || host === undefined || !isSameOrigin(req) ? undefined : sessions.read(cookie, host);
}

/** A page of another host must not act with the cookie: browsers name the page's origin whenever something is changed. */
export function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  if (origin === undefined) return !UNSAFE.has(req.method) || req.get('authorization') !== undefined;
  return URL.canParse(origin) && new URL(origin).host === req.get('host');
}

/** Whether the browser's connection is TLS: up to here, or up to a proxy that says so. */
export function isOverTls(req: Request): boolean {
  // A request whose body was given up has no socket any more.
  const { encrypted } = (req.socket as TLSSocket | null) ?? { encrypted: false };
  return encrypted || req.get('x-forwarded-proto')?.split(',', 1)[0]?.trim() === 'https';
}

/** Names the cookie that a request has, or is given. */
export function sessionCookie(req: Request): string {
  return isOverTls(req) ? TLS_SESSION_COOKIE : SESSION_COOKIE;
}

function cookieOf(req: Request): string | undefined {
  const wanted = sessionCookie(req);
  const cookies = (req.get('cookie') ?? '').split(';').map((part) => part.trim().split('='));
  return cookies.find(([name]) => name === wanted)?.[1];
}

function unauthorized(given: boolean, detail = 'Unknown or revoked token'): Problem {
  const challenge = given ? 'Bearer realm="waypost", error="invalid_token"' : 'Bearer realm="waypost"';
  return new Problem('unauthorized', given ? detail : 'Send Authorization: Bearer <token>', {
    headers: { 'WWW-Authenticate': challenge },
  });
}

export function seesSecrets({ role }: Actor): boolean {
  return role === 'admin';
}
