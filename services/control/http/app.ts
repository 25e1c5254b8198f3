import express, { type Express, type RequestHandler } from 'express';
import { answerProblems, noSuchPath } from './problem';
import { type Access, isOverTls } from '../auth/authenticate';
import { type ControlContext } from '../context';
import { type Handlers, mount } from './mount';
import { aboutHandlers } from './about-routes';
import { alertHandlers } from '../routes/alerts';
import { auditHandlers } from '../audit/routes';
import { catalogHandlers } from '../routes/catalog';
import { consoleRoutes } from './console-routes';
import { audienceHandlers, computedTraitHandlers } from '../routes/definitions';
import { deletionHandlers } from '../routes/deletions';
import { deliveryHandlers } from '../routes/deliveries';
import { destinationHandlers } from '../routes/destinations';
import { eventHandlers } from '../routes/events';
import { filterHandlers } from '../routes/filters';
import { noticeHandlers } from '../routes/notices';
import { openApiHandlers } from './openapi-routes';
import { overviewHandlers } from '../routes/overview';
import { replayHandlers } from '../routes/replays';
import { sessionHandlers } from '../auth/routes';
import { sourceHandlers } from '../routes/sources';
import { tokenHandlers } from '../tokens/routes';

/** The control API as an Express app: no port, no environment. */

/** @param consoleFolder another one in tests */
export function createApp(deps: ControlContext, access: Access, consoleFolder?: string): Express {
  const app = express();
  app.disable('x-powered-by');
  // Versions are the only tags: a tag of our own bytes would tell a client that it holds a version.
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(secureHeaders);
  app.use(mount(handlersOf(deps, access), access, deps));
  app.use(consoleRoutes(consoleFolder));
  app.use((req) => {
    throw noSuchPath(req);
  });
  app.use(answerProblems(deps.log));
  return app;
}

/** The type of the result proves that each operation of the table has its handler. */
function handlersOf(deps: ControlContext, access: Access): Handlers {
  return {
    ...openApiHandlers(),
    ...sessionHandlers(access, deps.now),
    ...aboutHandlers(deps),
    ...alertHandlers(deps),
    ...audienceHandlers(deps),
    ...auditHandlers(deps),
    ...catalogHandlers(),
    ...computedTraitHandlers(deps),
    ...deletionHandlers(deps),
    ...deliveryHandlers(deps),
    ...destinationHandlers(deps),
    ...eventHandlers(deps),
    ...filterHandlers(deps),
    ...noticeHandlers(deps),
    ...overviewHandlers(deps),
    ...replayHandlers(deps),
    ...sourceHandlers(deps),
    ...tokenHandlers(deps),
  };
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
