import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { type CallType } from '../../shared/model/message';
import { type Log } from '../../shared/telemetry/log';
import { type HttpResponse, PREFLIGHT, refusal, send, success } from './responses';
import { type Sources } from './write-key';
import { discardRest } from './read-body';
import { browserSettings, PIXEL, pixelBody } from './browser';
import { type Admission } from './admission';
import { type RequestHandler } from './handle-request';

/**
 * The paths and methods of ingest. Every response, errors too, is JSON (or the pixel), and a browser's page may read it.
 */

export interface AppParts {
  intake: RequestHandler;
  sources: Pick<Sources, 'find'>;
  gate: Pick<Admission, 'refused'>;
  log: Log;
}

const BATCH_PATHS = ['/v1/batch', '/v1/import', '/v1/b'];
const SINGLE_PATHS: Record<CallType, string> = {
  track: 't',
  identify: 'i',
  page: 'p',
  screen: 's',
  group: 'g',
  alias: 'a',
};
const SINGLES = Object.entries(SINGLE_PATHS) as [CallType, string][];
const TYPE_BY_NAME = new Map<string, CallType>(
  SINGLES.flatMap(([type, letter]) => [
    [type, type],
    [letter, type],
  ]),
);

export function createApp(parts: AppParts): Express {
  const app = express();
  // These defaults of Express cost time with each call, and no client needs them.
  app.disable('x-powered-by').disable('etag').set('query parser', false);
  app.use(preflight);

  app.route(BATCH_PATHS).post(calls(parts, 'batch')).all(onlyAllow('POST'));
  for (const [type, letter] of SINGLES) {
    app
      .route([`/v1/${letter}`, `/v1/${type}`])
      .post(calls(parts, type))
      .all(onlyAllow('POST'));
  }
  app.route('/v1/m').post(discard).all(onlyAllow('POST'));
  app.route('/v1/pixel/:type').get(pixel(parts)).all(onlyAllow('GET, HEAD'));
  app.route('/v1/projects/:writeKey/settings').get(settings(parts)).all(onlyAllow('GET, HEAD'));
  app.use((req: Request, res: Response) => send(req, res, refusal('not_found')));
  app.use(failed(parts.log));
  return app;
}

/** Answers preflights, and corrects `//v1/batch`, which clients request whose endpoint was set with a trailing slash. */
function preflight(req: Request, res: Response, next: NextFunction): void {
  if (req.url.startsWith('//')) req.url = req.url.replace(/^\/+/, '/');
  if (req.method === 'OPTIONS') send(req, res, PREFLIGHT);
  else next();
}

function calls({ intake }: AppParts, kind: CallType | 'batch') {
  return async (req: Request, res: Response) => {
    const answer = await intake({ req, kind });
    if (answer !== 'gone') answerUnread(req, res, answer);
  };
}

/** Discards the browser client's measurements of itself. */
function discard(req: Request, res: Response): void {
  answerUnread(req, res, success());
}

/** Responds although the body may not be read to its end, and reads the rest, so that the connection stays usable. */
function answerUnread(req: Request, res: Response, answer: HttpResponse): void {
  send(req, res, answer);
  discardRest(req);
}

/** Always answers with the image, because nothing would read an error. Refusals are logged. */
function pixel({ intake, log }: AppParts) {
  return async (req: Request<{ type: string }>, res: Response) => {
    const kind = TYPE_BY_NAME.get(req.params.type);
    if (kind) {
      const answer = await intake({ req, kind, body: pixelBody(req.url) });
      if (answer !== 'gone' && answer.status !== 200) log.debug({ status: answer.status, kind }, 'pixel.refused');
    }
    send(req, res, PIXEL);
  };
}

function settings({ sources, gate }: AppParts) {
  return async (req: Request<{ writeKey: string }>, res: Response) => {
    const source = await sources.find(req.params.writeKey);
    const refused = typeof source === 'string' ? gate.refused(req, refusal(source)) : undefined;
    send(req, res, refused ?? browserSettings(req.params.writeKey, req.headers));
  };
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
