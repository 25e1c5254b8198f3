import { type Request, type RequestHandler, type Response } from 'express';
import { Problem } from '../../../shared/http/problem';
import { roleFor } from '../operations';
import { type Actor, type Identities } from './identities';
import { type Sessions } from './sessions';
import { mayAct } from './tokens';

/**
 * Who asks, and whether they may: by a token in the header, or by the session of a browser, whose cookie is heeded only
 * where the page that asks is of the same host.
 */

export const SESSION_COOKIE = 'waypost_session';
const UNSAFE: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export interface Access {
  identities: Identities;
  sessions: Sessions;
}

/** @param now ms since 1970 */
export function authenticate({ identities, sessions }: Access, now: () => number): RequestHandler {
  return (req, res, next) => {
    const header = req.get('authorization');
    const identity = header === undefined ? ofCookie(req) : ofHeader(header);
    if (!identity) {
      next(unauthorized(header !== undefined));
      return;
    }
    const needed = roleFor(req.method, req.path);
    if (needed && !mayAct(identity.actor.role, needed)) {
      next(new Problem('forbidden', `This needs the role ${needed}; yours is ${identity.actor.role}`));
      return;
    }
    res.locals.actor = identity.actor;
    next();
  };

  function ofHeader(header: string) {
    const token = /^Bearer +(\S+) *$/i.exec(header)?.[1];
    return token === undefined ? undefined : identities.ofToken(token);
  }

  function ofCookie(req: Request) {
    const cookie = cookieOf(req);
    const host = req.get('host');
    if (cookie === undefined || host === undefined || !isSameOrigin(req)) return undefined;
    const session = sessions.read(cookie, { host, nowMs: now() });
    return session && identities.ofSession(session.id, session.mark);
  }
}

/** A page of another host must not act with the cookie: browsers name the page's origin whenever something is changed. */
export function isSameOrigin(req: Request): boolean {
  const origin = req.get('origin');
  if (origin === undefined) return !UNSAFE.has(req.method) || req.get('authorization') !== undefined;
  return URL.canParse(origin) && new URL(origin).host === req.get('host');
}

function cookieOf(req: Request): string | undefined {
  const cookies = (req.get('cookie') ?? '').split(';').map((part) => part.trim().split('='));
  return cookies.find(([name]) => name === SESSION_COOKIE)?.[1];
}

function unauthorized(given: boolean): Problem {
  const challenge = given ? 'Bearer realm="waypost", error="invalid_token"' : 'Bearer realm="waypost"';
  const detail = given ? 'This is no token that is known' : 'Send Authorization: Bearer <token>';
  return new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': challenge } });
}

/** Who asks: behind `authenticate`. */
export function actorOf(res: Response): Actor {
  return res.locals.actor as Actor;
}

export function seesSecrets(res: Response): boolean {
  return actorOf(res).role === 'admin';
}
