import { type Request, type Response, Router } from 'express';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { type Access, actorOf, authenticate, isSameOrigin, SESSION_COOKIE } from '../access/authenticate';
import { type Actor } from '../access/identities';
import { sessionSchema } from '../access/session-schema';
import { jsonBody } from '../body';
import { parseBody } from '../fields';

/** /api/v1/session: a token in, a cookie out that no script of a page can read. */

const HOURS_MS = 12 * 3_600_000;

/** Not behind `authenticate`: who begins a session has none yet. */
export function sessionRoutes(access: Access, now: () => Date): Router {
  const router = Router();
  const known = authenticate(access, () => now().getTime());
  router
    .route('/')
    .post(...jsonBody(), (req, res) => {
      begin(access, now(), req, res);
    })
    .get(known, (_req, res) => void res.json(view(actorOf(res), null)))
    .delete(known, (req, res) => {
      res.clearCookie(SESSION_COOKIE, cookieOptions(req)).status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST', 'DELETE']));
  return router;
}

function begin({ identities, sessions }: Access, now: Date, req: Request, res: Response): void {
  const host = req.get('host');
  // A page of somebody else must not put its visitors into a session of its own.
  if (host === undefined || (req.get('origin') !== undefined && !isSameOrigin(req))) {
    throw new Problem('forbidden', 'A session is begun by a page of this host');
  }
  const { token } = parseBody(sessionSchema, req.body);
  const identity = identities.ofToken(token);
  if (!identity) throw new Problem('unauthorized', 'This is no token that is known');
  res.locals.actor = identity.actor;
  const until = now.getTime() + HOURS_MS;
  const cookie = sessions.write({ id: identity.actor.id, mark: identity.mark, host, until });
  res.cookie(SESSION_COOKIE, cookie, { ...cookieOptions(req), maxAge: HOURS_MS });
  res.json(view(identity.actor, until));
}

function cookieOptions(req: Request) {
  const secure = req.secure || req.get('x-forwarded-proto') === 'https';
  return { httpOnly: true, sameSite: 'strict', path: '/', secure } as const;
}

function view({ id, name, role }: Actor, until: number | null) {
  return { id, name, role, expiresAt: until === null ? null : new Date(until).toISOString() };
}
