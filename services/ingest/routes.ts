import { type IncomingHttpHeaders } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { defined } from '../../shared/collections/defined';
import { type CallType, CALL_TYPES } from '../../shared/model/message';
import { type Log } from '../../shared/telemetry/log';
import { type HttpResponse, PREFLIGHT, refusal, send, success } from './responses';
import { type Sources } from './write-key';
import { discardRest } from './read-body';
import { type Admission } from './admission';
import { type RequestHandler } from './handle-request';

/**
 * The paths and methods of ingest. Every response, errors too, is JSON (or the pixel), and a
 * browser's page may read it.
 */

export interface AppParts {
  intake: RequestHandler;
  sources: Pick<Sources, 'find'>;
  admission: Pick<Admission, 'refused'>;
  log: Log;
}

type Handle = (req: Request, res: Response) => void | Promise<void>;

interface Route {
  /** the documented path, by which metrics and traces name the route */
  path: string;
  aliases?: readonly string[];
  method: 'get' | 'post';
  handle: (parts: AppParts) => Handle;
}

const ROUTES: readonly Route[] = [
  { path: '/v1/batch', aliases: ['/v1/import', '/v1/b'], method: 'post', handle: calls('batch') },
  ...CALL_TYPES.map((type): Route => ({
    path: `/v1/${type}`,
    aliases: [`/v1/${type.charAt(0)}`],
    method: 'post',
    handle: calls(type),
  })),
  // The browser client's measurements of itself.
  { path: '/v1/m', method: 'post', handle: () => (req, res) => respondUnread(req, res, success()) },
  { path: '/v1/pixel/:type', method: 'get', handle: pixel },
  { path: '/v1/projects/:writeKey/settings', method: 'get', handle: settings },
];

export function createApp(parts: AppParts): Express {
  const app = express();
  // These defaults of Express cost time with each call, and no client needs them.
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(preflight);
  for (const { path, aliases = [], method, handle } of ROUTES) {
    const allowed = method === 'post' ? 'POST' : 'GET, HEAD';
    const route = app.route([path, ...aliases]);
    route[method](handle(parts)).all(onlyAllow(allowed));
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
  const plain = path.replace(/^\/+/, '/').replace(/\/$/, '');
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
  if (req.method === 'OPTIONS') send(req, res, PREFLIGHT);
  else next();
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
    send(req, res, refusal('method_not_allowed', { allow: `${methods}, OPTIONS` }));
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

/**
 * Handles a call that a page makes by loading an image. Always answers with the image, because
 * nothing would read an error.
 */
function pixel({ intake, log }: AppParts): Handle {
  return async (req, res) => {
    const kind = TYPE_BY_NAME.get(parameter(req, 'type'));
    if (kind) {
      const response = await intake({
        req,
        kind,
        route: '/v1/pixel/:type',
        body: pixelBody(req.url),
      });
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
 * Returns the call in a pixel's `data`: JSON, or JSON in base64 of either alphabet. Empty without
 * `data`.
 */
function pixelBody(url: string): Buffer {
  const query = url.indexOf('?');
  const data = query < 0 ? null : new URLSearchParams(url.slice(query)).get('data');
  const text = (data ?? '').trim();
  // An unescaped plus sign was decoded as a space.
  return text.startsWith('{')
    ? Buffer.from(text)
    : Buffer.from(text.replaceAll(' ', '+'), 'base64');
}

/** Answers with the settings that analytics.js fetches first. */
function settings({ sources, admission }: AppParts): Handle {
  return async (req, res) => {
    const writeKey = parameter(req, 'writeKey');
    const source = await sources.find(writeKey);
    const refused =
      typeof source === 'string' ? admission.refused(req, refusal(source)) : undefined;
    send(req, res, refused ?? browserSettings(writeKey, req.headers));
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
