import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { listen } from '../shared/runtime/health';

/**
 * The demo's customer: an HTTP server that verifies signatures as a receiver would, without
 * Waypost's code. Every field of a receipt comes from a request that arrived.
 */

/** One POST as it arrived, and its response. */
export interface Receipt {
  at: Date;
  /** the path of its URL */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** `type` of the body, or undefined if the body is not a JSON object */
  type: string | undefined;
  /** `messageId` of the body, likewise */
  messageId: string | undefined;
  /** number of times that this webhook-id has come to this URL, including this request */
  attempt: number;
  /** X-Signature is the HMAC-SHA1 of the body */
  xSignatureOk: boolean;
  /** one of webhook-signature is the HMAC-SHA256 of id, time and body */
  webhookSignatureOk: boolean;
  answered: number;
}

/** A listening receiver. */
export interface Receiver {
  url(path: string): string;
  close(): void;
}

/**
 * A greater age suggests a wrong clock or a replayed request; receivers of Standard Webhooks refuse
 * it.
 */
const OLDEST_S = 300;

/**
 * Starts the receiver, on loopback by default.
 * @param refuse returns true to respond 503, as a customer in trouble would
 */
export async function startReceiver(options: {
  secret: string;
  refuse: (receipt: Pick<Receipt, 'messageId' | 'attempt'>) => boolean;
  onReceipt: (receipt: Receipt) => void;
  host?: string;
  /** default: a free one */
  port?: number;
}): Promise<Receiver> {
  const { host = '127.0.0.1' } = options;
  const seen = new Map<string, number>();
  const receive = (request: IncomingMessage, bytes: Buffer): number => {
    const { headers, url: path = '' } = request;
    const body = bytes.toString('utf8');
    const key = `${path} ${String(headers['webhook-id'])}`;
    const attempt = (seen.get(key) ?? 0) + 1;
    seen.set(key, attempt);
    const { type, messageId } = namesOf(body);
    const answered = options.refuse({ messageId, attempt }) ? 503 : 200;
    options.onReceipt({
      at: new Date(),
      path,
      headers,
      body,
      type,
      messageId,
      attempt,
      answered,
      ...checkSignatures(headers, bytes, options.secret),
    });
    return answered;
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => response.writeHead(receive(request, Buffer.concat(chunks))).end());
  });
  const port = await listen(server, options.port ?? 0, host);
  const at = `http://${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  return { url: (path) => `${at}${path}`, close: () => server.close() };
}

function checkSignatures(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secret: string,
): Pick<Receipt, 'xSignatureOk' | 'webhookSignatureOk'> {
  const sha1 = createHmac('sha1', secret).update(body).digest('hex');
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
  const signed = `${String(id)}.${String(time)}.`;
  const sha256 = `v1,${createHmac('sha256', secret).update(signed).update(body).digest('base64')}`;
  const recent = Math.abs(Date.now() / 1000 - Number(time)) < OLDEST_S;
  return {
    xSignatureOk: same(headers['x-signature'], sha1),
    // Spaces separate the signatures: a rotation has two.
    webhookSignatureOk:
      recent &&
      String(signatures)
        .split(' ')
        .some((signature) => same(signature, sha256)),
  };
}

function same(given: string | string[] | undefined, wanted: string): boolean {
  return (
    typeof given === 'string' &&
    given.length === wanted.length &&
    timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
  );
}

/** Returns the texts of a body that tell its call. */
function namesOf(body: string): Pick<Receipt, 'type' | 'messageId'> {
  try {
    const { type, messageId } = Object(JSON.parse(body)) as Record<string, unknown>;
    return { type: textOrNone(type), messageId: textOrNone(messageId) };
  } catch {
    return { type: undefined, messageId: undefined };
  }
}

function textOrNone(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
