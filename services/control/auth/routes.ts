import { type Request } from 'express';
import { sessionBody } from '../../../shared/api/tokens';
import { isoTimeOrNull } from '../../../shared/model/time';
import { type Call, type HandlersOf } from '../http/handlers';
import { Problem } from '../http/problem';
import { parseBody } from '../http/validate';
import {
  type Access,
  isOverTls,
  isSameOrigin,
  requireUnexpired,
  sessionCookie,
  sessionOf,
} from './authenticate';
import { type Identity } from '../http/identity';
import { SESSION_MS } from './sessions';

/** /api/v1/session: exchanges a token for a cookie that scripts cannot read. */

const NOT_WRITTEN =
  'The session has ended in this control process. The others will end it when the history ' +
  'database is back';

export function sessionHandlers(access: Access, now: () => Date): HandlersOf<'session'> {
  return {
    'POST /session': (call) => begin(access, now(), call),
    'GET /session': ({ identity, req }) => {
      // A bearer token takes precedence over the cookie.
      const session = req.get('authorization') === undefined ? sessionOf(access, req) : undefined;
      return view(identity, session?.until ?? identity.expiresAt ?? null);
    },
    'DELETE /session': async ({ req, res }) => {
      const session = sessionOf(access, req);
      const isWritten = !session || (await access.sessions.end(session));
      res.clearCookie(sessionCookie(req), cookieOptions(req));
      if (!isWritten) {
        throw new Problem('unavailable', NOT_WRITTEN, { headers: { 'Retry-After': '2' } });
      }
    },
  };
}

function begin(access: Access, now: Date, call: Call<'POST /session'>) {
  const { req, res } = call;
  const host = req.get('host');
  // A page of another host must not log its visitors in to a session that it chooses.
  if (host === undefined || (req.get('origin') !== undefined && !isSameOrigin(req))) {
    throw new Problem('forbidden', 'Only a page of this host can start a session');
  }
  const { token } = parseBody(sessionBody, call.body);
  const identity = access.identities.ofToken(token);
  if (!identity) throw new Problem('unauthorized', 'Unknown or revoked token');
  requireUnexpired(identity, now.getTime());
  call.by = identity.actor;
  access.tokenUses.note(identity.actor.id);
  const until = Math.min(now.getTime() + SESSION_MS, identity.expiresAt ?? Infinity);
  const cookie = access.sessions.begin({
    token: identity.actor.id,
    mark: identity.mark,
    host,
    until,
  });
  res.cookie(sessionCookie(req), cookie, { ...cookieOptions(req), maxAge: until - now.getTime() });
  return view(identity, until);
}

function cookieOptions(req: Request) {
  return { httpOnly: true, sameSite: 'strict', path: '/', secure: isOverTls(req) } as const;
}

function view({ actor: { id, name, role }, rights }: Identity, until: number | null) {
  return {
    id,
    name,
    role,
    rights: rights ? [...rights] : null,
    expiresAt: isoTimeOrNull(until),
  };
}
