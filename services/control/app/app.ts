import express, { type Express, type RequestHandler } from 'express';
import { durationText } from '../../../shared/api/fields';
import { defined } from '../../../shared/collections/defined';
import { type AlertDeps, alertHandlers, type NoticeDeps, noticeHandlers } from '../alerts/routes';
import { type AudienceDeps, audienceHandlers, computedTraitHandlers } from '../audiences/routes';
import { type AuditDeps } from '../audit/begin-audit';
import { auditHandlers, type AuditTrailDeps } from '../audit/routes';
import { type Access, isOverTls, seesSecrets } from '../auth/authenticate';
import { sessionHandlers } from '../auth/routes';
import { type Networks } from '../../../shared/model/address-warning';
import { type Log } from '../../../shared/telemetry/log';
import { type Handlers, type HandlersOf } from '../http/handlers';
import { type EventDeps, eventHandlers, filterHandlers } from '../debugger/routes';
import { type DeletionDeps, deletionHandlers } from '../deletions/routes';
import { type DeliveryDeps, deliveryHandlers } from '../deliveries/routes';
import { catalogHandlers, type DestinationDeps, destinationHandlers } from '../destinations/routes';
import { type LookupDeps, lookupHandlers } from '../lookup/routes';
import { type OverviewDeps, overviewHandlers } from '../overview/routes';
import { type ReplayDeps, replayHandlers } from '../replays/routes';
import { type SourceDeps, sourceHandlers } from '../sources/routes';
import { type TokenDeps, tokenHandlers } from '../tokens/routes';
import { consoleRoutes } from './console-routes';
import { mount } from './mount';
import { openApi } from './openapi';
import { respondToErrors, noSuchPath } from '../http/problem';

/** The control API as an Express app. It uses no port and no environment. */

/** What all operations need together. Each resource names its own part. */
export type AppDeps = AboutDeps &
  AlertDeps &
  AudienceDeps &
  AuditDeps &
  AuditTrailDeps &
  DeletionDeps &
  DeliveryDeps &
  DestinationDeps &
  EventDeps &
  LookupDeps &
  NoticeDeps &
  OverviewDeps &
  ReplayDeps &
  SourceDeps &
  TokenDeps & { log: Log; now: () => Date };

/** @param consoleFolder another one in tests */
export function createApp(deps: AppDeps, access: Access, consoleFolder?: string): Express {
  const app = express();
  app.disable('x-powered-by');
  // The version of an entry is its only tag. A hash of the body as tag would look like a version to
  // clients.
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use(secureHeaders);
  app.use(mount(handlersOf(deps, access), access, deps));
  app.use(consoleRoutes(consoleFolder));
  app.use((req) => {
    throw noSuchPath(req);
  });
  app.use(respondToErrors(deps.log));
  return app;
}

/** The return type proves that each operation of the table has a handler. */
function handlersOf(deps: AppDeps, access: Access): Handlers {
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
    ...lookupHandlers(deps),
    ...noticeHandlers(deps),
    ...overviewHandlers(deps),
    ...replayHandlers(deps),
    ...sourceHandlers(deps),
    ...tokenHandlers(deps),
  };
}

/** What the facts about this installation are. */
interface AboutDeps {
  /** address of ingest for clients */
  ingest: { url: string | null; port: number };
  tiersMs: readonly number[];
  windowMs: number;
  /** WAYPOST_ALLOWED_NETWORKS, WAYPOST_FORBIDDEN_NETWORKS */
  networks: Networks;
}

/** Handles /api/v1/about: the facts about this installation that clients need. */
function aboutHandlers({ ingest, tiersMs, windowMs, networks }: AboutDeps): HandlersOf<'about'> {
  const retry = { delays: tiersMs.map(durationText), window: durationText(windowMs) };
  return {
    'GET /about': ({ by }) => ({
      ingest,
      retry,
      ...defined({ networks: seesSecrets(by) ? networks : undefined }),
    }),
  };
}

/** /api/v1/openapi.json: public, since it is the same for all clients and contains no secret. */
function openApiHandlers(): HandlersOf<'openapi.json'> {
  // Few ask for it, and its schemas take a tenth of a second of CPU.
  let document: ReturnType<typeof openApi> | undefined;
  return { 'GET /openapi.json': () => (document ??= openApi()) };
}

/** 180 days, without subdomains. Browsers ignore it over plain http. */
const HSTS = 'max-age=15552000';

/**
 * Responses contain write keys and, once, secrets: they must not be cached or rendered as a page.
 */
const secureHeaders: RequestHandler = (req, res, next) => {
  // Other programs on a developer's machine use plain http.
  if (isOverTls(req) && req.hostname !== 'localhost') res.set('Strict-Transport-Security', HSTS);
  res.set({
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
  });
  next();
};
