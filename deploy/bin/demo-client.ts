import { AppError } from '../../shared/service/errors';
import { type LocalSystem } from '../standalone/supervisor';

/**
 * The demo as a user of Waypost. It uses only public interfaces: it sets up with the control API and sends to ingest.
 */

const ANSWER_MS = 10_000;
const SOURCE = 'Demo source';
const DESTINATION = 'Demo receiver';

/** The calls of the demo, one of each type. */
export const CALLS: Record<string, Record<string, unknown>> = {
  identify: { userId: 'user-42', traits: { name: 'Ada Lovelace', plan: 'pro' } },
  track: {
    userId: 'user-42',
    event: 'Order Completed',
    properties: { orderId: 'A-1001', total: 59.9, currency: 'EUR' },
  },
  page: { userId: 'user-42', category: 'Docs', name: 'Quickstart', properties: { url: 'https://example.com/docs' } },
  screen: { userId: 'user-42', name: 'Settings', properties: { theme: 'dark' } },
  group: { userId: 'user-42', groupId: 'acme', traits: { name: 'Acme Inc.', employees: 120 } },
  alias: { userId: 'user-42', previousId: 'anonymous-7' },
};

/** Returns the write key of the source with this name. It reuses the source of an earlier demo. */
export async function demoSource(system: LocalSystem): Promise<{ id: string; writeKey: string }> {
  const { data } = await control(system, 'GET', '/sources?limit=100');
  const found = objects(data).find((source) => source.name === SOURCE);
  const { id, writeKey } = found ?? (await control(system, 'POST', '/sources', { name: SOURCE }));
  return { id: String(id), writeKey: String(writeKey) };
}

/**
 * Creates a signed destination with these URLs. It deletes the destinations of earlier demos, because their receivers
 * are gone.
 */
export async function demoDestination(
  system: LocalSystem,
  wanted: { source: string; secret: string; urls: string[] },
): Promise<void> {
  const { data } = await control(system, 'GET', '/destinations?limit=100');
  for (const { id } of objects(data).filter(({ name }) => name === DESTINATION)) {
    await control(system, 'DELETE', `/destinations/${String(id)}`);
  }
  await control(system, 'POST', '/destinations', {
    name: DESTINATION,
    type: 'webhooks',
    sources: [wanted.source],
    webhooks: wanted.urls.map((url) => ({ url, headers: { 'X-Demo': 'static header' } })),
    sharedSecret: wanted.secret,
    enabled: true,
  });
}

/**
 * Sends one call as a client does.
 * @throws AppError if ingest does not accept it
 */
export async function sendCall(ingestUrl: string, writeKey: string, type: string): Promise<void> {
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  await request(`${ingestUrl}/v1/${type}`, { method: 'POST', authorization, body: CALLS[type] });
}

async function control(
  system: LocalSystem,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const authorization = `Bearer ${system.adminToken}`;
  return request(`${system.controlUrl}/api/v1${path}`, { method, authorization, body });
}

async function request(
  url: string,
  { method, authorization, body }: { method: string; authorization: string; body?: unknown },
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new AppError('cannot_start', `${method} ${url} was answered ${String(response.status)}: ${text}`);
  }
  const value: unknown = text === '' ? {} : JSON.parse(text);
  return (value ?? {}) as Record<string, unknown>;
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : [];
}
