import express, { type Express, type RequestHandler, Router } from 'express';
import { answerProblems, noSuchPath } from '../../shared/http/problem';
import { auditActs } from './access/acts';
import { type Access, authenticate, isOverTls } from './access/authenticate';
import { jsonBody } from './body';
import { type ControlDeps } from './deps';
import { aboutRoutes } from './routes/about';
import { alertRoutes } from './routes/alerts';
import { auditRoutes } from './routes/audit';
import { catalogRoutes } from './routes/catalog';
import { consoleRoutes } from './routes/console';
import { deletionRoutes } from './routes/deletions';
import { audienceRoutes, computedTraitRoutes } from './routes/definitions';
import { deliveryRoutes } from './routes/deliveries';
import { eventRoutes } from './routes/events';
import { filterRoutes } from './routes/filters';
import { memberRoutes } from './routes/members';
import { noticeRoutes } from './routes/notices';
import { openApiRoutes } from './routes/openapi';
import { destinationRoutes } from './routes/destinations';
import { overviewRoutes } from './routes/overview';
import { pastRoutes, previewRoutes } from './routes/profiles';
import { replayRoutes } from './routes/replays';
import { sessionRoutes } from './routes/session';
import { sourceRoutes } from './routes/sources';
import { tokenRoutes } from './routes/tokens';

/** The control API as an Express app: no port, no environment. */

export function createApp(deps: ControlDeps, access: Access): Express {
  const app = express();
  app.disable('x-powered-by');
  // Versions are the only tags: a tag of our own bytes would tell a client that it holds a version.
  app.disable('etag');
  app.use(secureHeaders);
  // The description is public: it is the same for everybody, and holds no secret.
  app.use('/api/v1/openapi.json', openApiRoutes());
  app.use('/api/v1', auditActs(deps));
  app.use('/api/v1/session', sessionRoutes(access, deps.now));
  app.use(
    '/api/v1',
    authenticate(access, () => deps.now().getTime()),
    memberRoutes(deps),
    ...jsonBody(),
    api(deps),
  );
  app.use(consoleRoutes());
  app.use(noSuchPath);
  app.use(answerProblems(deps.log));
  return app;
}

function api(deps: ControlDeps): Router {
  const router = Router();
  router.use('/catalog', catalogRoutes());
  router.use('/sources', sourceRoutes(deps));
  router.use('/destinations', destinationRoutes(deps));
  router.use('/audiences', previewRoutes(deps), pastRoutes(deps, 'audience'), audienceRoutes(deps));
  router.use('/computed-traits', pastRoutes(deps, 'computed_trait'), computedTraitRoutes(deps));
  router.use('/deliveries', deliveryRoutes(deps));
  router.use('/events', eventRoutes(deps));
  router.use('/filters', filterRoutes(deps));
  router.use('/deletions', deletionRoutes(deps));
  router.use('/replays', replayRoutes(deps));
  router.use('/tokens', tokenRoutes(deps));
  router.use('/audit', auditRoutes(deps));
  router.use('/alerts', alertRoutes(deps));
  router.use('/notices', noticeRoutes(deps));
  router.use('/about', aboutRoutes(deps));
  router.use('/overview', overviewRoutes(deps));
  return router;
}

/** 180 days, for this host alone. Browsers ignore it over plain http. */
const HSTS = 'max-age=15552000';

/** Answers hold write keys and, once, secrets: no cache keeps them, and no browser takes them for a page. */
const secureHeaders: RequestHandler = (req, res, next) => {
  // Other programs on a developer's machine speak plain http.
  if (isOverTls(req) && req.hostname !== 'localhost') res.set('Strict-Transport-Security', HSTS);
  res.set({
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
  });
  next();
};
