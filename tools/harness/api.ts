import { type Dispatcher, Pool } from 'undici';
import { defined } from '../../shared/collections/defined';
import { Final } from '../../test/support/eventually';

/** Clients of a system's control API and of its ingest. */

export interface Source {
  id: string;
  writeKey: string;
}

export interface Destination {
  id: string;
  webhooks: { id: string }[];
}

/** Any response body: each test asserts its own shape. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a type would be unchecked
export type Json = any;

/** A parsed response of an API. */
export interface Answer {
  status: number;
  body: Json;
  headers: Headers;
}

/** A destination's fields, with defaults for those that are absent. */
export interface DestinationFields {
  sources: string[];
  webhooks: { url: string; headers?: Record<string, string> }[];
  [key: string]: unknown;
}

/** The APIs of a system. */
export interface Api {
  /** Calls the control API as administrator, with `path` relative to /api/v1. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  createSource(name?: string): Promise<Source>;
  /** Enabled by default. */
  createDestination(fields: DestinationFields): Promise<Destination>;
  /** POSTs to ingest as a client does, e.g. `send(key, 'track', {…})`. */
  send(writeKey: string, path: string, body: unknown): Promise<Answer>;
}

/** @param at base URLs, and a token of the control API */
export function apiOf(at: { ingestUrl: string; controlUrl: string; adminToken: string }): Api {
  const control: Api['control'] = (method, path, body) =>
    call(
      method,
      `${at.controlUrl}/api/v1${path}`,
      { authorization: `Bearer ${at.adminToken}` },
      body,
    );
  return {
    control,
    createSource: async (name = 'A source') => created(await control('POST', '/sources', { name })),
    createDestination: async (fields) => {
      const webhooks = fields.webhooks.map((webhook) => ({ headers: {}, ...webhook }));
      const defaults = { name: 'A destination', type: 'webhooks', enabled: true };
      return created(await control('POST', '/destinations', { ...defaults, ...fields, webhooks }));
    },
    send: (writeKey, path, body) =>
      call('POST', `${at.ingestUrl}/v1/${path}`, { authorization: basicAuth(writeKey) }, body),
  };
}

export async function call(
  method: string,
  url: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...headers,
      ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
    },
    ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),

    // Control has the lowest priority, and a machine under test is busy.
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, body: parsed(text), headers: response.headers };
}

/** Returns the Authorization header of a write key. */
export function basicAuth(writeKey: string): string {
  return `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
}

/** The response of ingest to a call under load. */
export interface Receipt {
  status: number;
  /** whether a client counts the call as stored: it accepts exactly one body as success */
  stored: boolean;
  text: string;
  headers: Dispatcher.ResponseData['headers'];
}

/** Posts JSON to ingest over connections that stay open, faster than `fetch`. */
export class IngestConnections {
  readonly #pool: Pool;

  constructor(url: string, options: Pool.Options = {}) {
    this.#pool = new Pool(url, options);
  }

  async post(
    path: string,
    body: string,
    { authorization, signal }: { authorization: string; signal?: AbortSignal },
  ): Promise<Receipt> {
    const answer = await this.#pool.request({
      method: 'POST',
      path,
      body,
      headers: { authorization, 'content-type': 'application/json' },
      ...defined({ signal }),
    });
    const text = await answer.body.text();
    const { statusCode: status, headers } = answer;
    return { status, stored: status === 200 && text === '{"success":true}', text, headers };
  }

  /** Waits for open requests. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Ends open requests. */
  destroy(): Promise<void> {
    return this.#pool.destroy();
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function created(answer: Answer): Json {
  if (answer.status !== 201) {
    throw new Final(`status ${answer.status} instead of 201: ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}
