import { type TLSSocket } from 'node:tls';
import { type Request } from 'express';
import { hasRight, type Right } from '../../../shared/api/access';
import { isoTime } from '../../../shared/model/time';
import { Problem } from '../http/problem';
import { type TokenUses } from './token-uses';
import { hasExpired, type Identities } from './identities';
import { type Actor, type Identity } from '../http/identity';
import { type Refusals } from './refusals';
import { type Session, type Sessions } from './sessions';

/**
 * Identifies the actor of a request: by a token in the header, or by a browser's session, whose
 * cookie counts only for pages of the same host.
 */

export const SESSION_COOKIE = 'waypost_session';
/**
 * Over TLS no other host of the same domain can set a cookie with this prefix. Browsers refuse the
 * prefix without TLS.
 */
export const TLS_SESSION_COOKIE = `__Host-${SESSION_COOKIE}`;
const UNSAFE: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export interface Access {
  identities: Identities;
  sessions: Pick<Sessions, 'begin' | 'read' | 'end'>;
  tokenUses: Pick<TokenUses, 'note'>;
  refusals: Pick<Refusals, 'responseTo'>;
}

/** @throws Problem `unauthorized` */
export function identify(access: Access, req: Request, nowMs: number): Identity {
  const identity = credentialsOf(access, req);
  if (!identity) throw unauthorized(req.get('authorization') !== undefined);
  requireUnexpired(identity, nowMs);
  return identity;
}

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

/** @throws Problem `unauthorized` for an expired token */
export function requireUnexpired(identity: Identity, nowMs: number): void {
  if (!hasExpired(identity, nowMs)) return;
  const at = isoTime(identity.expiresAt ?? 0);
  throw unauthorized(true, `This token expired at ${at}; ask an administrator for a new one`);
}

export function sessionOf({ sessions }: Access, req: Request): Session | undefined {
  const cookie = cookieOf(req);
  const host = req.get('host');
  return cookie === undefined || host === undefined || !isSameOrigin(req)
    ? undefined
    : sessions.read(cookie, host);
}

/**
 * Returns whether the page has the same host, since no other page may act with the cookie. Browsers
 * send the page's origin with every change.
 */
export function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  if (origin === undefined) {
    return !UNSAFE.has(req.method) || req.get('authorization') !== undefined;
  }
  return URL.canParse(origin) && new URL(origin).host === req.get('host');
}

/** Returns whether the browser uses TLS: up to control, or up to a proxy that says so. */
export function isOverTls(req: Request): boolean {
  // A request whose body was abandoned has no socket.
  const { encrypted } = (req.socket as TLSSocket | null) ?? { encrypted: false };
  return encrypted || req.get('x-forwarded-proto')?.split(',', 1)[0]?.trim() === 'https';
}

export function sessionCookie(req: Request): string {
  return isOverTls(req) ? TLS_SESSION_COOKIE : SESSION_COOKIE;
}

function cookieOf(req: Request): string | undefined {
  const wanted = sessionCookie(req);
  const cookies = (req.get('cookie') ?? '').split(';').map((part) => part.trim().split('='));
  return cookies.find(([name]) => name === wanted)?.[1];
}

function unauthorized(given: boolean, detail = 'Unknown or revoked token'): Problem {
  const challenge = given
    ? 'Bearer realm="waypost", error="invalid_token"'
    : 'Bearer realm="waypost"';
  return new Problem('unauthorized', given ? detail : 'Send Authorization: Bearer <token>', {
    headers: { 'WWW-Authenticate': challenge },
  });
}

export function seesSecrets({ role }: Actor): boolean {
  return role === 'admin';
}

/**
 * @param rights of the token; undefined: all that the role allows
 * @throws Problem `forbidden`
 */
export function requireRights(
  needed: readonly Right[],
  rights: readonly string[] | undefined,
): void {
  const missing = needed.filter((right) => !hasRight(rights, right));
  if (missing.length > 0) {
    throw new Problem(
      'forbidden',
      `This requires the right ${missing.join(' and ')}, which your token does not have`,
    );
  }
}
