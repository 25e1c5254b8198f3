import express, { type Express, type RequestHandler } from 'express';
import { answerProblems, noSuchPath } from './problem';
import { type Access, isOverTls } from '../auth/authenticate';
import { type ControlContext } from '../context';
import { type Handlers, mount } from './mount';
import { aboutHandlers } from './about-routes';
import { alertHandlers } from '../alerts/routes';
import { auditHandlers } from '../audit/routes';
import { catalogHandlers } from '../destinations/catalog-routes';
import { consoleRoutes } from './console-routes';
import { audienceHandlers, computedTraitHandlers } from '../audiences/routes';
import { deletionHandlers } from '../deletions/routes';
import { deliveryHandlers } from '../deliveries/routes';
import { destinationHandlers } from '../destinations/routes';
import { eventHandlers } from '../debugger/routes';
import { filterHandlers } from '../debugger/filter-routes';
import { noticeHandlers } from '../alerts/notice-routes';
import { openApiHandlers } from './openapi-routes';
import { overviewHandlers } from '../overview/routes';
import { replayHandlers } from '../replays/routes';
import { sessionHandlers } from '../auth/routes';
import { sourceHandlers } from '../sources/routes';
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
