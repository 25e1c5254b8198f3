import { type Request } from 'express';
import { sessionBody } from '../../../shared/api/tokens';
import { isoTimeOrNull } from '../../../shared/model/time';
import { type BucketRate, TokenBuckets } from '../../../shared/runtime/load-limits';
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

/**
 * Of one token. A session stays in the audit trail, and an ended one is remembered until its time
 * is over; people, with their browsers and tests, begin a few an hour.
 */
const LOGINS: BucketRate = { perSecond: 0.1, burst: 100 };
const MAX_TOKENS = 10_000;

const NOT_WRITTEN =
  'The session has ended in this control process. The others will end it when the history ' +
  'database is back';

export function sessionHandlers(access: Access, now: () => Date): HandlersOf<'session'> {
  const logins = new TokenBuckets(MAX_TOKENS);
  return {
    'POST /session': (call) => begin(access, { logins, now: now() }, call),
    'GET /session': ({ identity, req }) => {
      // A bearer token takes precedence over the cookie.
      const session = req.get('authorization') === undefined ? sessionOf(access, req) : undefined;
      return view(identity, session?.until ?? identity.expiresAt ?? null);
    },
    'DELETE /session': async ({ req, res }) => {
      const session = sessionOf(access, req);
      if (!session) {
        throw new Problem('not_found', 'The request has a token, and no session to end');
      }
      const isWritten = await access.sessions.end(session);
      res.clearCookie(sessionCookie(req), cookieOptions(req));
      if (!isWritten) {
        throw new Problem('unavailable', NOT_WRITTEN, { headers: { 'Retry-After': '2' } });
      }
    },
  };
}

function begin(
  access: Access,
  { logins, now }: { logins: TokenBuckets; now: Date },
  call: Call<'POST /session'>,
) {
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
  takeLogin(logins, identity.actor.id, now.getTime());
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

/** @throws Problem `rate_limited` */
function takeLogin(logins: TokenBuckets, token: string, nowMs: number): void {
  const waitMs = logins.waitMs(token, LOGINS, nowMs);
  if (waitMs > 0) {
    throw new Problem('rate_limited', 'This token begins too many sessions', {
      headers: { 'Retry-After': String(Math.ceil(waitMs / 1_000)) },
    });
  }
  logins.take(token, 1, LOGINS, nowMs);
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
