import { type Request, type Response, Router } from 'express';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import {
  type Access,
  actorOf,
  authenticate,
  isOverTls,
  isSameOrigin,
  requireUnexpired,
  sessionCookie,
  sessionOf,
} from '../access/authenticate';
import { type Actor } from '../access/identities';
import { sessionSchema } from '../access/session-schema';
import { SESSION_MS } from '../access/sessions';
import { jsonBody } from '../body';
import { parseBody } from '../fields';

/** /api/v1/session: a token in, a cookie out that no script of a page can read. */

/** Not behind `authenticate`: who begins a session has none yet. */
export function sessionRoutes(access: Access, now: () => Date): Router {
  const router = Router();
  const known = authenticate(access, () => now().getTime());
  router
    .route('/')
    .post(...jsonBody(), (req, res) => {
      begin(access, now(), req, res);
    })
    .get(known, (req, res) => void res.json(view(actorOf(res), sessionOf(access, req)?.until ?? null)))
    .delete(known, async (req, res) => {
      const session = sessionOf(access, req);
      if (session) await access.sessions.end(session);
      res.clearCookie(sessionCookie(req), cookieOptions(req)).status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST', 'DELETE']));
  return router;
}

function begin(access: Access, now: Date, req: Request, res: Response): void {
  const host = req.get('host');
  // A page of somebody else must not put its visitors into a session of its own.
  if (host === undefined || (req.get('origin') !== undefined && !isSameOrigin(req))) {
    throw new Problem('forbidden', 'A session is begun by a page of this host');
  }
  const { token } = parseBody(sessionSchema, req.body);
  const identity = access.identities.ofToken(token);
  if (!identity) throw new Problem('unauthorized', 'This is no token that is known');
  requireUnexpired(identity, now.getTime());
  res.locals.actor = identity.actor;
  access.uses.note(identity.actor.id);
  const until = Math.min(now.getTime() + SESSION_MS, identity.expiresAt ?? Infinity);
  const cookie = access.sessions.begin({ token: identity.actor.id, mark: identity.mark, host, until });
  res.cookie(sessionCookie(req), cookie, { ...cookieOptions(req), maxAge: until - now.getTime() });
  res.json(view(identity.actor, until));
}

function cookieOptions(req: Request) {
  return { httpOnly: true, sameSite: 'strict', path: '/', secure: isOverTls(req) } as const;
}

function view({ id, name, role }: Actor, until: number | null) {
  return { id, name, role, expiresAt: until === null ? null : new Date(until).toISOString() };
}
