import { type Queued, toBody, VERSION } from './message.js';
import { type Failure } from './options.js';
import { type Platform } from './platform.js';
import { canSucceedLater, retryAfterMs } from './retry.js';

/** Sends one request and returns its outcome as a value. */

export type Outcome =
  /** the server accepted the batch, except the rejected calls, which are keyed by their position */
  | { kind: 'taken'; rejected: ReadonlyMap<number, Failure> }
  /** retry after the time that the server requested (0: none) */
  | { kind: 'later'; failure: Failure; waitMs: number }
  | { kind: 'never'; failure: Failure };

/**
 * Same as all clients of this format: the client does not wait for a slower response, and the
 * server drops the repeat.
 */
const REQUEST_TIMEOUT_MS = 10_000;
/** Below this size gzip costs more than it saves: such a body fits into one packet. */
const MIN_GZIP_LENGTH = 1_000;
const ALL_TAKEN: Outcome = { kind: 'taken', rejected: new Map() };

export interface Sender {
  readonly url: string;
  /** the body that `send` sends */
  body(batch: readonly Queued[]): string;
  send(batch: readonly Queued[]): Promise<Outcome>;
  /** aborts all requests in flight */
  abort(): void;
}

export function createSender(
  options: { endpoint: string; writeKey: string; gzip: boolean },
  platform: Platform,
): Sender {
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/batch`;
  const inFlight = new Set<AbortController>();
  const gzip = options.gzip ? platform.gzip : undefined;
  const headers: Record<string, string> = platform.browser
    ? { 'Content-Type': 'text/plain' }
    : {
        'Content-Type': 'application/json',
        'User-Agent': `waypost-node/${VERSION}`,
        Authorization: `Basic ${btoa(utf8AsLatin1(`${options.writeKey}:`))}`,
      };
  const body = (batch: readonly Queued[]) =>
    toBody(batch, Date.now(), platform.browser ? options.writeKey : undefined);

  return {
    url,
    body,
    abort: () => {
      for (const controller of inFlight) controller.abort();
    },
    async send(batch) {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), REQUEST_TIMEOUT_MS);
      inFlight.add(controller);
      try {
        const text = body(batch);
        const zipped = gzip && text.length >= MIN_GZIP_LENGTH ? await gzip(text) : undefined;
        platform.debug?.(
          `POST ${url}: ${batch.length} calls, ${zipped?.length ?? text.length} bytes`,
        );
        const answer = await platform.fetch(url, {
          method: 'POST',
          headers: zipped ? { ...headers, 'Content-Encoding': 'gzip' } : headers,
          body: zipped ?? text,
          // A redirected POST would arrive elsewhere as a GET, and get a 200.
          redirect: 'manual',
          // The request survives when the page closes.
          keepalive: platform.browser,
          signal: controller.signal,
        });
        return outcomeOf(answer.status, answer.headers.get('retry-after'), await answer.text());
      } catch (error) {
        return { kind: 'later', failure: { code: 'network', message: describe(error) }, waitMs: 0 };
      } finally {
        clearTimeout(timer);
        inFlight.delete(controller);
      }
    },
  };
}

function outcomeOf(status: number, retryAfter: string | null, text: string): Outcome {
  if (status >= 200 && status <= 299) {
    const rejected = rejectedIn(text);
    return rejected.size === 0 ? ALL_TAKEN : { kind: 'taken', rejected };
  }
  const told = parsed(text);
  const said = typeof told?.message === 'string' ? `: ${told.message}` : '';
  // Browsers report status 0 for a redirect that is not followed.
  const failure: Failure = {
    code: 'status',
    status,
    message: `status ${status || 'of a redirect'}${said}`,
  };
  if (!canSucceedLater(status)) return { kind: 'never', failure };
  return { kind: 'later', failure, waitMs: retryAfterMs(retryAfter, Date.now()) };
}

/** Ingests other than Waypost may not list rejected calls. */
function rejectedIn(text: string): Map<number, Failure> {
  const rejected = new Map<number, Failure>();
  const list = text.includes('"rejected"') ? parsed(text)?.rejected : undefined;
  if (!Array.isArray(list)) return rejected;
  for (const { index, code, message } of list as {
    index: number;
    code: string;
    message: string;
  }[]) {
    rejected.set(index, { code: 'rejected', message: `${code}: ${message}` });
  }
  return rejected;
}

/** The response may come from another server and contain no JSON. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Node's fetch says only "fetch failed" and puts the reason in `cause`. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** `btoa` reads each character as a byte. */
function utf8AsLatin1(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
