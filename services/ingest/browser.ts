import { type IncomingHttpHeaders } from 'node:http';
import { type HttpResponse } from './responses';

/** What only browsers ask for: their client's settings, and calls made by the load of an image. */

const HOST = /^[\w.:[\]-]{1,255}$/;

/**
 * What analytics.js fetches before anything else. It names this host as the place to send to: without that the client
 * sends to its maker.
 */
export function browserSettings(writeKey: string, headers: IncomingHttpHeaders): HttpResponse {
  const host = headers.host !== undefined && HOST.test(headers.host) ? headers.host : undefined;
  const protocol = String(headers['x-forwarded-proto'] ?? '').startsWith('https') ? 'https' : 'http';
  const ours = { apiKey: writeKey, ...(host !== undefined && { apiHost: `${host}/v1`, protocol }) };
  return {
    status: 200,
    body: JSON.stringify({ integrations: { 'Segment.io': ours } }),
    // It depends on the host asked, which a shared cache may not tell apart.
    headers: { 'content-type': 'application/json', 'cache-control': 'private, max-age=60' },
  };
}

/** One transparent pixel. */
export const PIXEL: HttpResponse = {
  status: 200,
  body: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
};

/** The call in a pixel's `data`: JSON, or JSON in base64 of either alphabet. Empty where there is none. */
export function pixelBody(url: string): Buffer {
  const query = url.indexOf('?');
  const data = query < 0 ? null : new URLSearchParams(url.slice(query)).get('data');
  const text = (data ?? '').trim();
  // A plus sign that was not escaped has become a space.
  return text.startsWith('{') ? Buffer.from(text) : Buffer.from(text.replaceAll(' ', '+'), 'base64');
}
