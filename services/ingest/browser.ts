import { type IncomingHttpHeaders } from 'node:http';
import { type HttpResponse } from './responses';

/** Requests that only browsers make: the settings of analytics.js, and calls by loading an image (pixel). */

const HOST = /^[\w.:[\]-]{1,255}$/;

/**
 * Returns the settings that analytics.js fetches first. They name this host as the API host; without it the client sends
 * its calls to Segment.
 */
export function browserSettings(writeKey: string, headers: IncomingHttpHeaders): HttpResponse {
  const host = headers.host !== undefined && HOST.test(headers.host) ? headers.host : undefined;
  const protocol = String(headers['x-forwarded-proto'] ?? '').startsWith('https') ? 'https' : 'http';
  const ours = { apiKey: writeKey, ...(host !== undefined && { apiHost: `${host}/v1`, protocol }) };
  return {
    status: 200,
    body: JSON.stringify({ integrations: { 'Segment.io': ours } }),
    // The response depends on the requested host, which a shared cache may ignore.
    headers: { 'content-type': 'application/json', 'cache-control': 'private, max-age=60' },
  };
}

/** One transparent pixel. */
export const PIXEL: HttpResponse = {
  status: 200,
  body: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  headers: { 'content-type': 'image/gif', 'cache-control': 'no-store' },
};

/** Returns the call in a pixel's `data`: JSON, or JSON in base64 of either alphabet. Empty without `data`. */
export function pixelBody(url: string): Buffer {
  const query = url.indexOf('?');
  const data = query < 0 ? null : new URLSearchParams(url.slice(query)).get('data');
  const text = (data ?? '').trim();
  // An unescaped plus sign was decoded as a space.
  return text.startsWith('{') ? Buffer.from(text) : Buffer.from(text.replaceAll(' ', '+'), 'base64');
}
