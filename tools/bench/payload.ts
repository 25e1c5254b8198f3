import { createHmac } from 'node:crypto';
import { type Message } from '../../shared/model/message';

/** The payloads of the benchmarks: track calls and their rendered bodies, each of one kilobyte. */

/** The size of a call and of a body as JSON. */
const BODY_BYTES = 1_024;
/** The signing secret. */
export const SECRET = 'bench-shared-secret';
/** Users in rotation: they spread the records over shards and partitions. */
const USERS = 1_000;

/** Returns a body as the router renders it. */
export function bodyOf(i: number, messageId: string): object {
  return padded({
    version: 1,
    type: 'track',
    userId: userOf(i),
    timestamp: new Date().toISOString(),
    event: 'Order Completed',
    properties: propertiesOf(i),
    context: CONTEXT,
    messageId,
  });
}

/** Returns a call as a client sends it. */
export function callOf(i: number, messageId: string): object {
  return padded({
    type: 'track',
    messageId,
    userId: userOf(i),
    timestamp: new Date().toISOString(),
    event: 'Order Completed',
    properties: propertiesOf(i),
    context: CONTEXT,
  });
}

/** Returns the same call as ingest accepts it now. */
export function messageOf(i: number, messageId: string): Message {
  return { ...callOf(i, messageId), receivedAt: new Date().toISOString() } as Message;
}

export function userOf(i: number): string {
  return `user-${String(i % USERS)}`;
}

/** The work of the baseline for each request: the minimum of any signed webhook. */
export function signedHeaders(body: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-signature': createHmac('sha1', SECRET).update(body).digest('hex'),
  };
}

interface Track {
  properties: Record<string, unknown>;
}

/** The context of real calls. */
const CONTEXT = {
  library: { name: '@segment/analytics-node', version: '3.1.0' },
  ip: '203.0.113.7',
  locale: 'en-GB',
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0 ' +
    'Safari/537.36',
  page: {
    path: '/checkout/done',
    title: 'Thank you',
    url: 'https://shop.example.com/checkout/done',
  },
};

const PRODUCTS = [
  { sku: 'A-100', name: 'Kettle', price: 59.9, quantity: 1 },
  { sku: 'B-200', name: 'Teapot, "large"', price: 70, quantity: 1 },
];

function propertiesOf(i: number): Record<string, unknown> {
  return {
    orderId: `ord-${String(i)}`,
    total: 129.9 + (i % 100),
    currency: 'EUR',
    products: PRODUCTS,
  };
}

/** Pads a body with one property, because real calls contain texts of any length. */
function padded<T extends Track>(body: T): T {
  const missing = BODY_BYTES - Buffer.byteLength(JSON.stringify(body)) - ',"note":""'.length;
  body.properties.note = 'x'.repeat(Math.max(0, missing));
  return body;
}
