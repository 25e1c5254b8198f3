import { connect, type Socket } from 'node:net';
import { createTransport, type Transporter } from 'nodemailer';
import { type UrlError } from '../../../shared/model/attempt-events';
import { isMailbox, MAILBOX_PREFIX, type MailBody } from '../../../shared/model/alert-mail';
import { defined } from '../../../shared/collections/defined';
import { messageOf } from '../../../shared/runtime/errors';
import { type SendRequest, type SendResult } from './exchange';

/**
 * Sends alerts by SMTP as the sender sends webhooks: a fault of the mail server is returned, never
 * thrown. A delivery to a mailbox has lanes, tiers and a history like one to a URL.
 */

/** A mail server may look up the recipient and scan the text before it responds. */
const TIMEOUT_MS = 30_000;
/** The time-outs above begin again with each byte: a server that trickles needs an end, too. */
const WHOLE_MS = 90_000;
/** Most bytes of one reply: a server names what it can do in some lines. */
const MOST_REPLY_BYTES = 32 * 1024;
/**
 * Most bytes on one connection, which serves at most a hundred mails. Replies, a chain of
 * certificates and some session tickets take a small part of it.
 */
const MOST_BYTES = 256 * 1024;
const WATCH_MS = 100;
/** Shared instances: their stacks are never read. */
const TOO_MUCH = new Error('the mail server sent more than belongs to its replies');
const TOO_LATE = Object.assign(new Error('the mail server could not be reached in time'), {
  code: 'ETIMEDOUT',
});
/**
 * The HTTP statuses as which replies count: the mail server refused the mail for good, or for now.
 */
const REFUSED = 422;
const NOT_NOW = 503;

interface SmtpError {
  code?: string;
  /** the server's code, such as 550 */
  responseCode?: number;
  /** the server's reply */
  response?: string;
}

export class MailSender {
  readonly #transport: Transporter;
  readonly #from: string;
  readonly #wholeMs: number;

  /**
   * @param url of the server: `smtp://user:password@host:587?from=waypost@example.com`, which
   *   switches to TLS (STARTTLS) before anything else is sent; `smtps` for TLS from the start;
   *   `smtp://host?tls=off` without TLS, and so without a password
   * @param options `wholeMs` for one mail, from the connection to the reply, ms; `ca`: the
   *   authority of the server, for tests
   */
  constructor(url: string, { wholeMs = WHOLE_MS, ca }: { wholeMs?: number; ca?: string } = {}) {
    const { protocol, hostname, port, username, password, searchParams } = new URL(url);
    const secure = protocol === 'smtps:';
    const plain = searchParams.get('tls') === 'off';
    this.#wholeMs = wholeMs;
    this.#from = searchParams.get('from') ?? `waypost@${hostname}`;
    const server = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (secure ? 465 : 587),
    };
    this.#transport = createTransport({
      ...server,
      secure,
      getSocket: (_: unknown, done: Opened) => openSocket(server, done),
      // By default TLS would be used only if the server offers it, and whoever is on the way can
      // remove the offer.
      requireTLS: !secure && !plain,
      ignoreTLS: plain,
      pool: true,
      ...defined({
        auth:
          username && !plain
            ? { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
            : undefined,
        tls: ca === undefined ? undefined : { ca },
      }),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      maxResponseSize: MOST_REPLY_BYTES,

      // A mail has no attachments: no text of an alert may read a file or a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Returns whether the request goes to a mailbox. */
  static takes({ origin }: SendRequest): boolean {
    return isMailbox(origin);
  }

  /** Calls `done` once, after the reply of the server or its failure. */
  send(request: SendRequest, done: (result: SendResult) => void): void {
    const startedAt = performance.now();
    const end = (result: SendResult) =>
      done({ ...result, durationMs: Math.round(performance.now() - startedAt) });
    this.#post(request).then(
      (reply) => end(replied(250, reply)),
      (error: unknown) => end(failed(error as SmtpError)),
    );
  }

  close(): void {
    this.#transport.close();
  }

  async #post({ origin, headers, body }: SendRequest): Promise<string> {
    const { subject, text } = JSON.parse(body.toString()) as MailBody;
    const id = headers[headers.indexOf('webhook-id') + 1] ?? '';
    // The same on each try, so that a mail program shows a repeat once.
    const messageId = `<${id}@waypost>`;
    const to = origin.slice(MAILBOX_PREFIX.length);
    const signal = AbortSignal.timeout(this.#wholeMs);
    const mail = { from: this.#from, to, subject, text, messageId, signal };
    const sent = (await this.#transport.sendMail(mail)) as { response?: string };
    return sent.response ?? '';
  }
}

type Opened = (error: Error | null, opened?: { connection: Socket }) => void;

/**
 * Opens a connection and bounds what arrives on it. Session tickets, new keys and handshakes that
 * begin anew come below the replies: only the socket below TLS counts their bytes.
 */
function openSocket(server: { host: string; port: number }, done: Opened): void {
  const socket = connect({ ...server, autoSelectFamily: true });
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(TOO_LATE));
  socket.once('error', done);
  socket.once('connect', () => {
    socket.setTimeout(0);
    socket.off('error', done);
    // Under TLS nobody else listens.
    socket.on('error', () => undefined);
    const watch = setInterval(() => {
      if (socket.bytesRead > MOST_BYTES) socket.destroy(TOO_MUCH);
    }, WATCH_MS);
    watch.unref();
    socket.once('close', () => clearInterval(watch));
    done(null, { connection: socket });
  });
}

function replied(status: number, reply: string): SendResult {
  const response = { status, headers: {}, body: Buffer.from(reply), truncated: false };
  return { ok: true, response, durationMs: 0 };
}

/**
 * If the mail server refuses the login or TLS, the setting is wrong: the mail is sent again, since
 * somebody may correct the setting within its window.
 */
function failed(error: SmtpError): SendResult {
  const { code = '', responseCode, response } = error;
  if (responseCode !== undefined && code !== 'EAUTH' && code !== 'ETLS') {
    return replied(responseCode >= 500 ? REFUSED : NOT_NOW, response ?? String(responseCode));
  }
  return { ok: false, error: errorOf(code, error), durationMs: 0 };
}

const LIMITS: Readonly<Record<string, Pick<UrlError, 'code' | 'phase'>>> = {
  ENOTFOUND: { code: 'dns', phase: 'dns' },
  EAI_AGAIN: { code: 'dns', phase: 'dns' },
  ETLS: { code: 'tls', phase: 'tls' },
  ETIMEDOUT: { code: 'timeout' },
};

const MESSAGES: Readonly<Record<string, string>> = {
  // The reply to a login may repeat the user's name.
  EAUTH: 'the mail server refused the user or the password',
  ETLS:
    'the mail server did not switch to TLS, and nothing was sent to it; a relay in your own ' +
    'network that has none needs ?tls=off in WAYPOST_SMTP_URL',
};

function errorOf(code: string, error: SmtpError): UrlError {
  const message = MESSAGES[code] ?? messageOf(error);
  return { ...(LIMITS[code] ?? { code: 'connection', phase: 'connect' }), message };
}
