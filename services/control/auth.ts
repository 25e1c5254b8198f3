import { createHash, timingSafeEqual } from 'node:crypto';
import { type RequestHandler } from 'express';
import { Problem } from '../../shared/http/problem';

/**
 * Lets in who brings the admin token. Digests are compared, so that neither the time taken nor an early end tells how
 * much of a guess was right, nor how long the token is.
 */
export function requireToken(token: string): RequestHandler {
  const wanted = digest(token);
  return (req, _res, next) => {
    const given = /^Bearer +(\S+) *$/i.exec(req.get('authorization') ?? '')?.[1];
    if (given !== undefined && timingSafeEqual(digest(given), wanted)) {
      next();
      return;
    }
    const challenge = given === undefined ? 'Bearer realm="waypost"' : 'Bearer realm="waypost", error="invalid_token"';
    const detail = given === undefined ? 'Send Authorization: Bearer <admin token>' : 'This is not the admin token';
    next(new Problem('unauthorized', detail, { headers: { 'WWW-Authenticate': challenge } }));
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
