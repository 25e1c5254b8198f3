import {
  type ApiResponse,
  ApiProblem,
  createClient,
  type Input,
  type Name,
} from '../shared/api/client';
import { AppError } from '../shared/runtime/errors';
import { type LocalSystem } from './supervisor';

/**
 * The demo as a user of Waypost. It uses only public interfaces: it sets up with the control API
 * and sends to ingest.
 */

const ANSWER_MS = 10_000;
const SOURCE = 'Demo source';
const DESTINATION = 'Demo receiver';

export type ControlAccess = Pick<LocalSystem, 'controlUrl' | 'adminToken'>;

/** The calls of the demo, one of each type. */
export const CALLS = {
  identify: { userId: 'user-42', traits: { name: 'Ada Lovelace', plan: 'pro' } },
  track: {
    userId: 'user-42',
    event: 'Order Completed',
    properties: { orderId: 'A-1001', total: 59.9, currency: 'EUR' },
  },
  page: {
    userId: 'user-42',
    category: 'Docs',
    name: 'Quickstart',
    properties: { url: 'https://example.com/docs' },
  },
  screen: { userId: 'user-42', name: 'Settings', properties: { theme: 'dark' } },
  group: { userId: 'user-42', groupId: 'acme', traits: { name: 'Acme Inc.', employees: 120 } },
  alias: { userId: 'user-42', previousId: 'anonymous-7' },
} satisfies Record<string, Record<string, unknown>>;

/**
 * Returns the source of the demo. It reuses the source of an earlier demo.
 * @throws AppError `cannot_start` if control refuses, or has no secret key for the source of the
 *   earlier demo
 */
export async function demoSource(system: ControlAccess): Promise<{ id: string; writeKey: string }> {
  const { data } = (await askControl(system, 'GET /sources', { query: { limit: 100 } })).data;
  const found = data.find(({ name }) => name === SOURCE);
  const { id, writeKey } =
    found ?? (await askControl(system, 'POST /sources', { body: { name: SOURCE } })).data;
  if (writeKey === null) {
    throw new AppError(
      'cannot_start',
      `The write key of the source "${SOURCE}" cannot be decrypted.`,
    );
  }
  return { id, writeKey };
}

/**
 * Creates a signed destination with these URLs. It deletes the destinations of earlier demos,
 * because their receivers are gone.
 */
export async function demoDestination(
  system: ControlAccess,
  wanted: { source: string; secret: string; urls: string[] },
): Promise<void> {
  const { data } = (await askControl(system, 'GET /destinations', { query: { limit: 100 } })).data;
  for (const { id } of data.filter(({ name }) => name === DESTINATION)) {
    await askControl(system, 'DELETE /destinations/{id}', { id });
  }
  const webhooks = wanted.urls.map((url) => ({ url, headers: { 'X-Demo': 'static header' } }));
  const fields = { name: DESTINATION, type: 'webhooks' as const, enabled: true };
  const body = { ...fields, sources: [wanted.source], webhooks, sharedSecret: wanted.secret };
  await askControl(system, 'POST /destinations', { body });
}

/**
 * Sends one call as a client does.
 * @throws AppError if ingest does not accept it
 */
export async function sendCall(
  ingestUrl: string,
  writeKey: string,
  type: string,
  call: Record<string, unknown>,
): Promise<void> {
  const url = `${ingestUrl}/v1/${type}`;
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify(call);
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (!response.ok) throw refused(`POST ${url}`, response.status, await response.text());
}

/** @throws AppError if control refuses, with its reason */
export async function askControl<N extends Name>(
  system: ControlAccess,
  name: N,
  input: Input<N>,
): Promise<ApiResponse<N>> {
  const call = createClient({ base: `${system.controlUrl}/api/v1`, token: system.adminToken });
  try {
    return await call(name, { ...input, signal: AbortSignal.timeout(ANSWER_MS) });
  } catch (error) {
    throw error instanceof ApiProblem ? refused(name, error.status, error.message) : error;
  }
}

function refused(what: string, status: number, why: string): AppError {
  return new AppError('cannot_start', `${what} was answered ${String(status)}: ${why}`);
}
