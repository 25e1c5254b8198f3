import { join } from 'node:path';
import express, { type RequestHandler, Router } from 'express';
import { Problem } from '../../../shared/http/problem';
import { ROOT } from '../../../shared/root';

/**
 * The console: files that `npm run build:console` made. Each path outside of the API that a browser asks for as a page is the
 * one page, which reads the address itself: so that every address can be kept and shared.
 */

/** Files alone, and from here alone: nothing inline, nothing from elsewhere, in nobody's frame. */
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

const NOT_BUILT = 'The console is not built here: run npm run build:console';

/** @param folder another one in tests */
export function consoleRoutes(folder = join(ROOT, 'dist', 'console')): Router {
  const router = Router();
  router.use(policy);
  // Their names hold a digest of what they hold.
  const forever = { immutable: true, maxAge: '1y', index: false, etag: false, lastModified: false } as const;
  router.use('/assets', cacheable, express.static(join(folder, 'assets'), forever));
  router.use(express.static(folder, { index: false, etag: false, cacheControl: false, redirect: false }));
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

const policy: RequestHandler = (req, res, next) => {
  if (!isApi(req.path)) res.set('Content-Security-Policy', POLICY);
  next();
};

const cacheable: RequestHandler = (_req, res, next) => {
  res.removeHeader('Cache-Control');
  next();
};

function isPage(req: express.Request): boolean {
  const asks = (req.method === 'GET' || req.method === 'HEAD') && req.accepts(['json', 'html']) === 'html';
  return asks && !isApi(req.path) && !req.path.startsWith('/assets/');
}

function isApi(path: string): boolean {
  return path === '/api' || path.startsWith('/api/');
}
