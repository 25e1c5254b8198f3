import { type IncomingHttpHeaders } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { defined } from '../../shared/collections/defined';
import { type CallType, CALL_TYPES } from '../../shared/model/message';
import { type Log } from '../../shared/telemetry/log';
import {
  healthResponse,
  type HttpResponse,
  preflightResponse,
  refusal,
  send,
  success,
} from './responses';
import { pixelBody } from './pixel-body';
import { discardRest } from './read-body';
import { type RequestHandler, withSource, type WithSourceParts } from './handle-request';

/**
 * The paths and methods of ingest. Every response, errors too, is JSON (or the pixel), and a
 * browser's page may read it.
 */

export interface AppParts extends WithSourceParts {
  intake: RequestHandler;
  /** whether this process may get traffic */
  isReady: () => boolean;
  log: Log;
}

type Handle = (req: Request, res: Response) => void | Promise<void>;

interface Route {
  /** the documented path, by which metrics and traces name the route */
  path: string;
  aliases?: readonly string[];
  /** absent: `post` */
  get?: (parts: AppParts) => Handle;
  /** absent: `get` */
  post?: (parts: AppParts) => Handle;
}

const ROUTES: readonly Route[] = [
  {
    path: '/v1/batch',
    // The last three are of RudderStack's beacons, and of clients whose endpoint was set without
    // `/v1`.
    aliases: ['/v1/import', '/v1/b', '/beacon/v1/batch', '/batch', '/b'],
    post: calls('batch'),
  },
  ...CALL_TYPES.map((type): Route => ({
    path: `/v1/${type}`,
    aliases: [`/v1/${type.charAt(0)}`],
    post: calls(type),
  })),
  // The browser client's measurements of itself.
  { path: '/v1/m', post: () => (req, res) => respondUnread(req, res, success()) },
  { path: '/v1/pixel/:type', get: pixel },
  { path: '/pixel/v1/:type', get: pixel, post: pixelCall },
  { path: '/v1/projects/:writeKey/settings', get: settings },
  { path: '/healthz', aliases: ['/'], get: health },
];

export function createApp(parts: AppParts): Express {
  const app = express();
  // These defaults of Express cost time with each call, and no client needs them.
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(preflight);
  for (const { path, aliases = [], get, post } of ROUTES) {
    const route = app.route([path, ...aliases]);
    if (get) route.get(get(parts));
    if (post) route.post(post(parts));
    route.all(
      onlyAllow([get && 'GET, HEAD', post && 'POST', 'OPTIONS'].filter(Boolean).join(', ')),
    );
  }
  app.use((req: Request, res: Response) => send(req, res, refusal('not_found')));
  app.use(failed(parts.log));
  return app;
}

const hasParameter = ({ path }: Route) => path.includes(':');
const EXACT = new Map(
  ROUTES.filter((route) => !hasParameter(route)).flatMap(({ path, aliases = [] }) =>
    [path, ...aliases].map((each) => [each, path] as const),
  ),
);
const PATTERNS = ROUTES.filter(hasParameter).map(({ path }) => ({
  path,
  pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`),
}));

/**
 * Returns the documented path of a request, without any text of the client; empty for an unknown
 * path.
 */
export function routeOf(url: string): string {
  const direct = EXACT.get(url);
  if (direct !== undefined) return direct;
  // It has a query, an extra slash, or capital letters.
  const [path = ''] = url.split('?', 1);
  const plain = path.replace(/^\/+/, '/').replace(/(?<=.)\/$/, '');
  return (
    EXACT.get(plain.toLowerCase()) ??
    PATTERNS.find(({ pattern }) => pattern.test(plain))?.path ??
    ''
  );
}

/**
 * Answers preflights, and corrects `//v1/batch`, which clients request whose endpoint was set with
 * a trailing slash.
 */
function preflight(req: Request, res: Response, next: NextFunction): void {
  if (req.url.startsWith('//')) req.url = req.url.replace(/^\/+/, '/');
  if (req.method !== 'OPTIONS') return next();
  const asked = req.headers['access-control-request-headers'];
  send(req, res, preflightResponse(typeof asked === 'string' ? asked : undefined));
}

function calls(kind: CallType | 'batch') {
  const route = `/v1/${kind}`;
  return ({ intake }: AppParts): Handle =>
    async (req, res) => {
      const response = await intake({ req, kind, route });
      if (response !== 'gone') respondUnread(req, res, response);
    };
}

/**
 * Responds although the body may not be read to its end, and reads the rest, so that the connection
 * stays usable.
 */
function respondUnread(req: Request, res: Response, response: HttpResponse): void {
  send(req, res, response);
  discardRest(req);
}

function onlyAllow(methods: string) {
  return (req: Request, res: Response) =>
    send(req, res, refusal('method_not_allowed', { allow: methods }));
}

/** Answers 400 for a path that cannot be decoded, and 500 for any other error. */
function failed(log: Log) {
  return (error: unknown, req: Request, res: Response, next: NextFunction) => {
    if (res.headersSent) {
      next(error);
    } else if (error instanceof URIError) {
      send(req, res, refusal('invalid_request'));
    } else {
      log.error({ err: error }, 'request.failed');
      send(req, res, refusal('internal_error'));
    }
  };
}

const PIXEL_ROUTE = '/v1/pixel/:type';

/**
 * Handles a call that a page makes by loading an image. Always answers with the image, because
 * nothing would read an error.
 */
function pixel({ intake, log }: AppParts): Handle {
  return async (req, res) => {
    const kind = TYPE_BY_NAME.get(parameter(req, 'type'));
    if (kind) {
      const response = await intake({ req, kind, route: PIXEL_ROUTE, body: pixelBody(req.url) });
      if (response !== 'gone' && response.status !== 200) {
        log.debug({ status: response.status, kind }, 'pixel.refused');
      }
    }
    send(req, res, PIXEL);
  };
}

const TYPE_BY_NAME = new Map<string, CallType>(
  CALL_TYPES.flatMap((type) => [
    [type, type],
    [type.charAt(0), type],
  ]),
);

/** One transparent pixel. */
const PIXEL: HttpResponse = {
  status: 200,
  body: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
};

/**
 * Handles a pixel that a script posts, which reads the answer. The call is in its body; without
 * one, in the query.
 */
function pixelCall({ intake }: AppParts): Handle {
  return async (req, res) => {
    const kind = TYPE_BY_NAME.get(parameter(req, 'type'));
    if (!kind) return respondUnread(req, res, refusal('not_found'));
    const body = hasBody(req) ? undefined : pixelBody(req.url);
    const response = await intake({ req, kind, route: PIXEL_ROUTE, body });
    if (response !== 'gone') respondUnread(req, res, response);
  };
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function health({ isReady }: AppParts): Handle {
  return (req, res) => send(req, res, healthResponse(isReady()));
}

/** Answers with the settings that analytics.js fetches first. */
function settings(parts: AppParts): Handle {
  return async (req, res) => {
    const key = parameter(req, 'writeKey');
    const response = await withSource(parts, { req, key }, () => browserSettings(key, req.headers));
    send(req, res, response);
  };
}

const HOST = /^[\w.:[\]-]{1,255}$/;

/** Names this host as the API host; without it the client sends its calls to Segment. */
function browserSettings(writeKey: string, headers: IncomingHttpHeaders): HttpResponse {
  const host = headers.host !== undefined && HOST.test(headers.host) ? headers.host : undefined;
  const protocol = String(headers['x-forwarded-proto'] ?? '').startsWith('https')
    ? 'https'
    : 'http';
  const ours = {
    apiKey: writeKey,
    ...defined({
      apiHost: host !== undefined ? `${host}/v1` : undefined,
      protocol: host !== undefined ? protocol : undefined,
    }),
  };
  return {
    status: 200,
    body: JSON.stringify({ integrations: { 'Segment.io': ours } }),
    // The response depends on the requested host, which a shared cache may ignore.
    headers: { 'content-type': 'application/json', 'cache-control': 'private, max-age=60' },
  };
}

function parameter({ params }: Request, name: string): string {
  const value = params[name];
  return typeof value === 'string' ? value : '';
}
