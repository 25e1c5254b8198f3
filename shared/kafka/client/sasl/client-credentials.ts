import { readFile } from 'node:fs/promises';
import { defined } from '../../../collections/defined';
import { AppError } from '../../../runtime/errors';
import { type Token } from './bearer-token';

/** Requests tokens by the client credentials grant (RFC 6749, 4.4), or reads them from a file. */

interface TokenRequest {
  url: URL;
  clientId: string;
  secret: string;
  scope?: string | undefined;
  audience?: string | undefined;
}

/** Below the time that kafkajs gives a connection to authenticate, 10 s. */
const TIMEOUT_MS = 5_000;
const LONGEST_REASON = 200;

/**
 * @throws AppError `kafka_unavailable` (retriable), which names the endpoint and its reason, but no
 *   secret
 */
export async function requestToken({
  url,
  clientId,
  secret,
  scope,
  audience,
}: TokenRequest): Promise<Token> {
  const form = {
    grant_type: 'client_credentials',
    ...defined({
      scope: scope || undefined,
      audience: audience || undefined,
    }),
  };
  const askedAt = Date.now();
  const answer = await send(url, {
    method: 'POST',
    headers: { authorization: basic(clientId, secret), accept: 'application/json' },
    body: new URLSearchParams(form),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.status !== 200) {
    throw noToken(url, `it answered ${answer.status} ${reasonIn(answer.body)}`.trim());
  }
  const { access_token: value, expires_in: seconds } = answer.body;
  if (typeof value !== 'string' || value === '') {
    throw noToken(url, 'its answer holds no access_token');
  }
  // Without a lifetime each connection requests a token.
  return { value, expiresAt: askedAt + (Number(seconds) || 0) * 1_000 };
}

/**
 * Reads a token that another process renews, such as the kubelet. Each connection reads it again.
 */
export async function tokenFromFile(url: URL): Promise<Token> {
  try {
    return { value: (await readFile(url, 'utf8')).trim(), expiresAt: 0 };
  } catch (error) {
    throw noToken(url, innerReason(error));
  }
}

async function send(
  url: URL,
  request: RequestInit,
): Promise<{ status: number; body: Record<string, unknown> }> {
  try {
    const response = await fetch(withoutUser(url), request);
    const body: unknown = await response.json().catch(() => undefined);
    return {
      status: response.status,
      body: typeof body === 'object' && body !== null ? { ...body } : {},
    };
  } catch (error) {
    throw noToken(url, innerReason(error));
  }
}

/** Encodes both as forms do: they may contain a colon. */
function basic(clientId: string, secret: string): string {
  const [id, password] = [clientId, secret].map((text) =>
    new URLSearchParams({ '': text }).toString().slice(1),
  );
  return `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`;
}

function reasonIn({ error, error_description: description }: Record<string, unknown>): string {
  const texts = [error, description].filter((text) => typeof text === 'string');
  return texts.join(': ').slice(0, LONGEST_REASON);
}

/** Returns the reason of a failed request, which `fetch` puts into the cause of its error. */
function innerReason(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  const { message, code } = cause as { message?: string; code?: string };
  return message || code || String(cause);
}

function withoutUser(url: URL): URL {
  return new URL(url.pathname + url.search, url.origin);
}

function noToken(url: URL, reason: string): AppError {
  const where = url.protocol === 'file:' ? url.pathname : url.origin + url.pathname;
  return new AppError('kafka_unavailable', `no token for Kafka from ${where}: ${reason}`, true);
}
