import { extname, join } from 'node:path';
import express, { type RequestHandler, Router } from 'express';
import { ROOT } from '../../../shared/runtime/repo-root';
import { Problem } from '../http/problem';

/**
 * Serves the console, built by `npm run build`. Each path outside the API (`mount` answers those)
 * that a browser requests as a page gets the same page, which reads the address itself, so that
 * every address can be bookmarked and shared.
 */

/** Only files of this origin: no inline code, no other origins, no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const NOT_BUILT = 'The console is not built. Run npm run build';

/** Asset names contain a hash of the content. */
const forever = {
  immutable: true,
  maxAge: '1y',
  index: false,
  etag: false,
  lastModified: false,
} as const;

/**
 * Compressed once, by the build: `a.js` has `a.js.br` and `a.js.gz` beside it. In order of
 * preference.
 */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
] as const;

const CONSOLE = join(ROOT, 'dist', 'console');

/** @param folder another one in tests */
export function consoleRoutes(folder = CONSOLE): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.use(policy);
  const assets = join(folder, 'assets');
  router.use('/assets', cacheable, ...ENCODINGS.map((encoding) => compressed(assets, encoding)));
  router.use('/assets', express.static(assets, forever));
  router.use(
    express.static(folder, { index: false, etag: false, cacheControl: false, redirect: false }),
  );
  router.use((req, res, next) => {
    if (!isPage(req)) {
      next();
      return;
    }
    const options = { root: folder, etag: false, lastModified: false, cacheControl: false };
    res.sendFile('index.html', options, (error) => {
      if (error && !res.headersSent) next(new Problem('not_found', NOT_BUILT));
    });
  });
  return router;
}

const policy: RequestHandler = (_req, res, next) => {
  res.set('Content-Security-Policy', POLICY);
  next();
};

const cacheable: RequestHandler = (_req, res, next) => {
  res.removeHeader('Cache-Control');
  res.vary('Accept-Encoding');
  next();
};

/** Serves a compressed file to clients that accept it; otherwise the next handler answers. */
function compressed(folder: string, { name, suffix }: (typeof ENCODINGS)[number]): RequestHandler {
  const serve = express.static(folder, {
    ...forever,
    acceptRanges: false,
    setHeaders: (res: express.Response, path) => {
      res.set('Content-Encoding', name).type(extname(path.slice(0, -suffix.length)));
    },
  });
  return (req, res, next) => {
    if (req.acceptsEncodings(name) === false) {
      next();
      return;
    }
    const asked = req.url;
    req.url = req.path + suffix;
    serve(req, res, (error?: unknown) => {
      req.url = asked;
      next(error);
    });
  };
}

function isPage(req: express.Request): boolean {
  // A newcomer who opens the root with curl, which accepts anything, sees that the console is
  // there.
  const types = req.path === '/' ? ['html', 'json'] : ['json', 'html'];
  const asks = (req.method === 'GET' || req.method === 'HEAD') && req.accepts(types) === 'html';
  return asks && !req.path.startsWith('/assets/');
}
