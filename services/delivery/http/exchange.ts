import { type Socket } from 'node:net';
import { type IncomingHttpHeaders } from 'node:http';
import { type Dispatcher } from 'undici';
import { type Phases, type UrlError } from '../../../shared/model/attempt-events';
import { type Phase } from '../../../shared/model/phases';
import { type Oddity } from '../../../shared/model/oddities';
import { type Method } from '../../../shared/model/request-settings';
import { type Link, type LinkedList } from '../../../shared/collections/linked-list';
import { type RequestClock } from '../clock/stall-clock';
import { type Connection, type Connections } from './connections';
import { codeOf, describeError, isBroken, isClosed } from './describe-error';
import { EndpointFault } from './endpoint-fault';
import { type Waiting } from './guarded-connector';
import { type PeerCheck } from './peers';
import { type ClientTls, closedCause, tlsCause } from './client-tls';
import { type Opening } from './proxy-gate';
import { type Proxy } from './tunnel';
import { type ClientCredentials } from './client-credentials';
import { type Refusal } from '../lanes/job';

/**
 * One POST and its response: takes a connection, sends the request, collects the response, measures
 * its phases, classifies the error of a failed one, and gives the connection back.
 *
 * A status that has arrived decides, whatever follows it. If undici cannot read the rest, or it
 * does not end in time, the response has the status and what was odd.
 *
 * An endpoint may close a kept connection at the moment a request is written to it. If such a
 * connection breaks before the first byte of a response, the request is sent a second time, over a
 * new connection, within the same deadline: the break says nothing about the endpoint. If the
 * endpoint had read the request, it gets it twice, with the same id.
 */

const KEEP_BODY_BYTES = 16 * 1024;

export interface SendRequest {
  /** absent: POST */
  method?: Method;
  origin: string;
  /** including the query */
  path: string;
  /** alternating names and values */
  headers: string[];
  /** the entries of `headers` that `signHeaders` made, which come first; absent: none */
  signatureEntries?: number;
  body: Buffer;
  /** absent: the sender's */
  timeoutMs?: number;
  /**
   * the client certificate and the trusted authorities; absent: no certificate, and the authorities
   * of Node
   */
  tls?: ClientTls;
  /** absent: it is connected to directly */
  proxy?: Proxy;
  /** its OAuth2 token is added (tokens/authorizing-sender.ts) */
  credentials?: ClientCredentials;
  /**
   * Asked when the request is about to be written: it may have waited for a token, a name or a
   * connection, also because this process stood still. Absent: it may be sent however late.
   */
  isPermitted?: () => boolean;
}

export type ResponseHeaders = Record<string, string | string[] | undefined>;

export interface EndpointResponse {
  status: number;
  /** names in lower case; a header that was sent several times may have several values */
  headers: ResponseHeaders;
  /** at most 16 KiB */
  body: Buffer;
  /** there was more, or the response broke off after the status */
  truncated: boolean;
  /** what was odd about it; absent: nothing */
  oddities?: Oddity[];
  /** the entries of the request that `signHeaders` made; absent for a 2xx */
  signature?: readonly string[];
}

/**
 * Why a failed request says nothing of its endpoint. `own_fault`: this process stood still, or
 * could not send the request a second time, and the attempt counts. A refusal: no attempt is spent.
 * `unpermitted`: nothing was sent, because `isPermitted` returned false.
 */
export type Excuse = 'own_fault' | 'unpermitted' | Refusal;

export type SendResult = (
  | { ok: true; response: EndpointResponse }
  | { ok: false; error: UrlError; excuse?: Excuse | undefined }
) & {
  durationMs: number;
  phases?: Phases;
  resent?: true;
  gzip?: true;
  /** secrets of this request alone, to be masked in the response */
  masked?: readonly string[];
};

// Shared instances: creating a stack trace is expensive (client.ts), and these are never read.
const TOO_LATE = new Error('the deadline has passed');
const TOO_LONG = new Error('the response is longer than the part that is kept');

const UNPERMITTED: UrlError = {
  code: 'connection',
  message: 'it had to wait, and may not be sent any more',
};

/** What all exchanges of a sender share. */
export interface SharedByExchanges {
  connections: Connections;
  /** asked about the addresses of a kept connection */
  stillHolds: PeerCheck;
  clock: RequestClock;
}

/** One request in flight. It ends once: with its response, an error, or its deadline. */
export class Exchange implements Dispatcher.DispatchHandler, Waiting, Link<Exchange> {
  before: Exchange | undefined = undefined;
  after: Exchange | undefined = undefined;
  list: object | undefined = undefined;
  readonly startedAt = performance.now();
  /** by the stall clock's `deadlineNow` */
  readonly begunAt: number;
  /** the socket that was opened for this request; undefined on a kept connection */
  socket: Socket | undefined = undefined;
  /** when it last asked the proxy: for a connection, or to carry this request */
  opening: Opening | undefined = undefined;
  connection: Connection;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: ResponseHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;
  #resent = false;
  #ended = false;
  #phase: Phase = 'connect';
  #phaseAt = this.startedAt;
  #phases: Phases | undefined;

  constructor(
    readonly request: SendRequest,
    private readonly shared: SharedByExchanges,
    /** the list of the requests in flight that it leaves at its end */
    private readonly inFlight: LinkedList<Exchange>,
    private readonly done: (result: SendResult) => void,
  ) {
    this.begunAt = shared.clock.deadlineNow(this.startedAt);
    this.connection = shared.connections.take(request, this);
    if (request.proxy) this.opening = request.proxy.gate.mark(request.origin);
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Ends the present phase, whose duration is then known, and begins the next. */
  set phase(next: Phase) {
    const now = performance.now();
    const ms = Math.round(now - this.#phaseAt);
    if (ms > 0) {
      const phases = (this.#phases ??= {});
      // A phase may occur twice: after name resolution, connecting comes again.
      phases[this.#phase] = (phases[this.#phase] ?? 0) + ms;
    }
    this.#phase = next;
    this.#phaseAt = now;
  }

  /**
   * Sends the request. A kept connection is left once the name of its endpoint has another address.
   */
  begin(): void {
    const holds = this.shared.stillHolds(this.connection.peers);
    if (holds === true) this.#dispatch();
    else if (holds === false) this.#dispatchAnew();
    else {
      this.phase = 'dns';
      void holds.then(() => {
        if (!this.#ended) this.begin();
      });
    }
  }

  #dispatch(): void {
    const { method = 'POST', path, headers, body } = this.request;
    try {
      this.connection.client.dispatch(
        { method, path, headers, body, headersTimeout: 0, bodyTimeout: 0 },
        this,
      );
    } catch (error) {
      queueMicrotask(() => this.fail(error));
    }
  }

  #dispatchAnew(): void {
    const { connections } = this.shared;
    connections.drop(this.connection);
    this.connection = connections.open(this.request, this);
    this.#dispatch();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (!this.#ended && this.request.isPermitted?.() === false) this.#withdraw();
    // Nothing may be sent any more, as when the deadline passed while it waited for a connection.
    if (this.#ended) controller.abort(TOO_LATE);
    this.connection.incoming.requestWritten();
    this.phase = 'headers';
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#headers = headers;
    this.connection.incoming.headRead();
    this.phase = 'body';
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.connection.incoming.bodyRead(chunk.length);
    const room = KEEP_BODY_BYTES - this.#bytes;
    if (chunk.length <= room) {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      return;
    }
    this.#chunks.push(chunk.subarray(0, room));
    this.#responded(true);
    // The rest of the body is not needed: it is dropped with its connection.
    controller.abort(TOO_LONG);
  }

  onResponseEnd(): void {
    const isDelimited = 'content-length' in this.#headers;
    if (this.connection.incoming.hasMore(this.#chunks.at(-1), isDelimited)) {
      this.#responded(false, 'extra_bytes');
    } else this.#responded(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: unknown): void {
    if (this.#ended || this.#endByStatus(error)) return;
    if (!this.#isStale(error)) {
      this.#failed(describeError(error, this.phase, this.#hint(error)));
      return;
    }
    this.#resent = true;
    this.#controller = undefined;
    this.phase = 'connect';
    this.#dispatchAnew();
  }

  expire(timeoutMs: number): void {
    if (!this.#endByStatus(TOO_LATE)) this.#failed(this.#lateness(timeoutMs));
    if (this.#controller) this.#controller.abort(TOO_LATE);
    else this.socket?.destroy(TOO_LATE);
  }

  /**
   * Ends the exchange with the status, if it has arrived, or with the reason why it cannot be read.
   * @param error why the response is not read any further
   * @returns false if neither has arrived
   */
  #endByStatus(error: unknown): boolean {
    const { incoming } = this.connection;
    if (this.#status > 0) {
      this.#responded(true, oddityOf(error, this.#status, incoming.fault?.why));
      return true;
    }
    if (!this.#controller || incoming.isSilent) return false;
    const reading = incoming.readKept();
    if (reading.kind === 'answered') {
      this.#status = reading.status;
      this.#headers = reading.headers;
      this.#chunks = [reading.body.subarray(0, KEEP_BODY_BYTES)];
      const oddities = [...reading.oddities];
      if (incoming.fault?.why === 'header_size') oddities.push('header_size');
      else if (!isParserError(error)) oddities.push('body_cut');
      else if (oddities.length === 0) oddities.push('header_syntax');
      this.#responded(!reading.isWhole || reading.body.length > KEEP_BODY_BYTES, ...oddities);
      return true;
    }
    const fault = incoming.fault?.why === 'unreadable' ? incoming.fault.message : undefined;
    const why = fault ?? (reading.kind === 'unreadable' ? reading.why : undefined);
    if (why === undefined) return false;
    this.#failed(describeError(new EndpointFault(why), this.phase, undefined));
    return true;
  }

  #lateness(timeoutMs: number): UrlError {
    const { phase, opening } = this;
    // Behind a kept tunnel the endpoint may be silent instead: the next request opens a tunnel, and
    // its answer tells.
    const asksProxy =
      phase === 'proxy' || (phase === 'headers' && this.connection.incoming.isSilent);
    const isProxys = asksProxy && opening && !this.request.proxy?.gate.answeredSince(opening);
    if (isProxys) {
      return {
        code: 'proxy',
        phase,
        message: `the proxy did not answer within ${String(timeoutMs)} ms`,
      };
    }
    const message = `no complete answer within ${String(timeoutMs)} ms`;
    return { code: 'timeout', phase: phase === 'proxy' ? 'connect' : phase, message };
  }

  /**
   * Returns whether a kept connection broke under the request, and the endpoint has not begun to
   * respond. Then the request is sent once more over a new connection, in the same attempt. A new
   * connection that breaks says something about the endpoint, and is a failed attempt.
   */
  #isStale(error: unknown): boolean {
    return (
      !this.#resent &&
      this.socket === undefined &&
      this.connection.incoming.isSilent &&
      isBroken(error)
    );
  }

  /** Returns the cause of an error of TLS in words, as far as it can be known. */
  #hint(error: unknown): string | undefined {
    const { tls, origin } = this.request;
    const code = codeOf(error);
    const known = tlsCause(code);
    if (known !== undefined) return tls?.expired(Date.now()) ?? known;
    const wasClosed =
      this.connection.incoming.isSilent && this.socket !== undefined && isClosed(code);
    const isSecured = this.#phase === 'tls' || this.#phase === 'headers';
    return wasClosed && isSecured && origin.startsWith('https:')
      ? closedCause(tls, Date.now())
      : undefined;
  }

  #responded(truncated: boolean, ...odd: Oddity[]): void {
    const body =
      this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const response: EndpointResponse = {
      status: this.#status,
      headers: this.#headers,
      body,
      truncated,
    };
    const { hadContinue } = this.connection.incoming;
    if (hadContinue && !odd.includes('interim')) odd.unshift('interim');
    if (odd.length > 0) response.oddities = odd;
    const { headers, signatureEntries } = this.request;
    if (signatureEntries !== undefined && (this.#status < 200 || this.#status >= 300)) {
      response.signature = headers.slice(0, signatureEntries);
    }
    if (this.opening) this.request.proxy?.gate.passes(this.opening);
    this.#end({ ok: true, response, durationMs: this.#elapsed() }, !truncated && odd.length === 0);
  }

  #failed(error: UrlError): void {
    const { proxy, origin } = this.request;
    const outage = error.code === 'proxy' ? proxy?.gate.outage(origin) : undefined;
    const stoodStill = this.shared.clock.stoodStillSince(this.begunAt);
    this.#end({
      ok: false,
      error,
      durationMs: this.#elapsed(),
      excuse: outage ?? (stoodStill ? 'own_fault' : undefined),
    });
  }

  /** If it is sent a second time, the endpoint may have got it: the attempt counts. */
  #withdraw(): void {
    this.#end({
      ok: false,
      error: UNPERMITTED,
      durationMs: this.#elapsed(),
      excuse: this.#resent ? 'own_fault' : 'unpermitted',
    });
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.startedAt);
  }

  /** @param complete the whole response was received, so the connection can be used again */
  #end(result: SendResult, complete = false): void {
    if (this.#ended) return;
    this.#ended = true;
    // Ends the last phase.
    this.phase = this.#phase;
    if (this.#phases) result.phases = this.#phases;
    if (this.#resent) result.resent = true;
    this.inFlight.delete(this);
    const { connections } = this.shared;
    if (complete) connections.giveBack(this.connection);
    else connections.drop(this.connection);
    // An exception of the caller must end the process, and undici would swallow it.
    queueMicrotask(() => this.done(result));
  }
}

/** The name of the error: its code depends on undici's version of the parser. */
const PARSER_ERROR = 'HTTPParserError';
const LENGTH_MISMATCH = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
/** The statuses that have no body, whatever their headers say. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);

/** Returns whether undici could not read the response, although its connection works. */
function isParserError(error: unknown): boolean {
  const code = codeOf(error);
  return (error instanceof Error && error.name === PARSER_ERROR) || code === LENGTH_MISMATCH;
}

/** Returns what was odd about a response whose headers undici has read, and no more. */
function oddityOf(error: unknown, status: number, fault: string | undefined): Oddity {
  const code = codeOf(error);
  if (fault === 'framing_size') return 'framing_size';
  if (code === LENGTH_MISMATCH) return WITHOUT_BODY.has(status) ? 'content_length' : 'body_cut';
  return isParserError(error) ? 'chunk_syntax' : 'body_cut';
}
